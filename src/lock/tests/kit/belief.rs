//! Who believed to hold which lock, and when. Two beliefs in one lock at the same time prove that it is broken.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lockstorm_lock::Guard;

use super::waiting::TEST_TIMEOUT;

/// Longer than any test; locks without an end get this validity.
const LONG: Duration = TEST_TIMEOUT.saturating_mul(1000);

/// Lasts from the clock read after the acquire, or after a check of the guard, to the end of the validity that the guard
/// reported then, or to an earlier end. It shrinks and never grows: a renewed lock gets another belief for each check that
/// came too late for the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Belief {
    pub key: usize,
    pub begin: Instant,
    pub end: Instant,
}

/// The beliefs of one app server.
#[derive(Debug, Default)]
pub struct Beliefs(Mutex<Vec<Belief>>);

impl Beliefs {
    /// Starts the belief of the holder of `guard`. To be called right after the acquire.
    pub fn begin(&self, key: usize, guard: &Guard) -> Holding<'_> {
        let (begin, end) = validity(guard);
        let index = self.add(Belief { key, begin, end });
        Holding { beliefs: self, index }
    }

    /// The app server is about to be killed: after this nobody on it believes anything.
    pub fn end_all(&self) {
        let now = Instant::now();
        self.lock()
            .iter_mut()
            .for_each(|belief| belief.end = belief.end.min(now));
    }

    /// All beliefs so far.
    pub fn all(&self) -> Vec<Belief> {
        self.lock().clone()
    }

    fn add(&self, belief: Belief) -> usize {
        let mut beliefs = self.lock();
        beliefs.push(belief);
        beliefs.len() - 1
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Belief>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last belief of a holder.
pub struct Holding<'a> {
    beliefs: &'a Beliefs,
    index: usize,
}

impl Holding<'_> {
    /// Checks the guard again: it may have been renewed, or lost.
    pub fn look(&mut self, guard: &Guard) {
        let (now, end) = validity(guard);
        let mut beliefs = self.beliefs.lock();
        let last = &mut beliefs[self.index];
        if end <= now {
            last.end = last.end.min(now);
        } else if now <= last.end {
            last.end = end;
        } else {
            let again = Belief {
                key: last.key,
                begin: now,
                end,
            };
            drop(beliefs);
            self.index = self.beliefs.add(again);
        }
    }

    /// The belief as it is now.
    pub fn belief(&self) -> Belief {
        self.beliefs.lock()[self.index]
    }
}

/// The belief ends: drop this right before the release.
impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let last = &mut self.beliefs.lock()[self.index];
        last.end = last.end.min(now);
    }
}

/// The present time, and when the guard's validity ends. The clock is read first, so that the end is never too late.
fn validity(guard: &Guard) -> (Instant, Instant) {
    let now = Instant::now();
    (now, now + guard.validity().min(LONG))
}

/// Each belief that began during an earlier one in the same key, after the longest-lasting of those.
pub fn overlaps(mut beliefs: Vec<Belief>) -> Vec<(Belief, Belief)> {
    beliefs.retain(|belief| belief.begin < belief.end);
    beliefs.sort_by_key(|belief| (belief.key, belief.begin));
    let mut found = Vec::new();
    let mut longest: Option<Belief> = None;
    for belief in beliefs {
        longest = match longest {
            Some(other) if other.key == belief.key && belief.begin < other.end => {
                found.push((other, belief));
                Some(if other.end < belief.end { belief } else { other })
            }
            _ => Some(belief),
        };
    }
    found
}
