//! The callers of one app server that want the same key, first come, first served.
//!
//! The caller that has the permit of a key may ask the nodes for it, and keeps the permit as long as the lock is held;
//! meanwhile the others need not ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::clock::{self, FOREVER};
use crate::protocol::{Line, Time};
use crate::quorum::lock::QuorumLock;
use crate::refusal::Refusal;

/// The number of a permit that must not be passed on when it is dropped.
const PASSED_ON: u64 = 0;

/// The lines of all keys; clones share them. A key that nobody wants has no line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<LinesState>>);

#[derive(Debug, Default)]
struct LinesState {
    lines: HashMap<Arc<str>, KeyLine>,
    last_permit: u64,
}

/// The line of one key.
#[derive(Debug)]
struct KeyLine {
    line: Line<oneshot::Sender<Permit>>,
    /// The lock that was acquired with the permit.
    held: Option<Weak<QuorumLock>>,
    /// Why the caller with the permit has not got the lock yet.
    refusal: Option<Refusal>,
}

/// The result of entering a line.
#[derive(Debug)]
pub(crate) enum Entered {
    /// The line was empty.
    First(Permit),
    /// Another caller has the permit.
    Behind(Waiter),
}

/// The right to ask the nodes for a key. Dropping it passes it on.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    lines: Lines,
    key: Arc<str>,
    number: u64,
}

/// A place in a line. Dropping it leaves the line.
#[derive(Debug)]
#[must_use]
pub(crate) struct Waiter {
    lines: Lines,
    key: Arc<str>,
    permit: oneshot::Receiver<Permit>,
}

impl Permit {
    /// The key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl Lines {
    /// Takes the permit of the key if nobody has it.
    pub(crate) fn try_enter(&self, key: &str) -> Option<Permit> {
        let mut state = self.lock();
        if state.lines.contains_key(key) {
            return None;
        }
        let key = Arc::<str>::from(key);
        let number = state.next();
        let line = KeyLine {
            line: Line::new(number),
            held: None,
            refusal: None,
        };
        state.lines.insert(Arc::clone(&key), line);
        Some(self.permit(key, number))
    }

    /// Takes the permit of the key if nobody has it, or else a place behind all others. `since`: when the wait began.
    pub(crate) fn enter(&self, key: &str, since: Time) -> Entered {
        loop {
            if let Some(permit) = self.try_enter(key) {
                return Entered::First(permit);
            }
            let mut state = self.lock();
            // The line may have ended since.
            let Some((key, _)) = state.lines.get_key_value(key) else {
                continue;
            };
            let key = Arc::clone(key);
            let (sender, permit) = oneshot::channel();
            if let Some(line) = state.lines.get_mut(&key) {
                // Removes dead waiters at the front, so that they do not pile up while a key is held for long.
                line.front();
                line.line.enter(since, sender);
            }
            let lines = self.clone();
            return Entered::Behind(Waiter { lines, key, permit });
        }
    }

    fn permit(&self, key: Arc<str>, number: u64) -> Permit {
        let lines = self.clone();
        Permit { lines, key, number }
    }

    /// Since when the first waiter behind the present permit has waited.
    pub(crate) fn front(&self, key: &str) -> Option<Time> {
        self.lock().lines.get_mut(key)?.front()
    }

    /// Passes permit `number` of the key to the next waiter that is still there, or ends the line.
    fn pass_on(&self, key: &Arc<str>, mut number: u64) {
        loop {
            let mut state = self.lock();
            let following = state.next();
            let Some(line) = state.lines.get_mut(key).filter(|line| line.line.is_permit(number)) else {
                // This permit was passed on before.
                return;
            };
            let Some(next) = line.line.pass_on(following) else {
                state.lines.remove(key);
                return;
            };
            line.held = None;
            drop(state);
            number = following;
            // If the waiter gives up from now on, it drops the permit, which passes it on again.
            match next.send(self.permit(Arc::clone(key), number)) {
                Ok(()) => return,
                Err(mut refused) => refused.number = PASSED_ON,
            }
        }
    }

    /// Passes the permit on if it is kept for a lock whose validity has ended without a release. Otherwise returns when the
    /// validity will end, if a lock is held.
    fn pass_on_if_over(&self, key: &Arc<str>) -> Option<Time> {
        let (number, held) = {
            let state = self.lock();
            let line = state.lines.get(key)?;
            (line.line.permit(), line.held.clone()?)
        };
        match held
            .upgrade()?
            .lease()
            .valid_until()
            .filter(|until| *until > clock::now())
        {
            None => {
                self.pass_on(key, number);
                None
            }
            until => until,
        }
    }

    fn refusal(&self, key: &str) -> Refusal {
        let noted = self.lock().lines.get(key).and_then(|line| line.refusal.clone());
        noted.unwrap_or(Refusal::Contended)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().lines.is_empty()
    }

    /// The number of waiters behind the present permit, including those that gave up but are not yet removed.
    #[cfg(test)]
    pub(crate) fn behind(&self, key: &str) -> usize {
        self.lock().lines.get(key).map_or(0, |line| line.line.behind())
    }

    fn lock(&self) -> MutexGuard<'_, LinesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinesState {
    const fn next(&mut self) -> u64 {
        self.last_permit += 1;
        self.last_permit
    }
}

impl KeyLine {
    fn front(&mut self) -> Option<Time> {
        self.line.front(oneshot::Sender::is_closed)
    }
}

impl Permit {
    /// Records that the lock was acquired. The permit passes to the next waiter once the lock has ended, released or not.
    pub(crate) fn hold(&self, lock: &Arc<QuorumLock>) {
        self.change(|line| (line.held, line.refusal) = (Some(Arc::downgrade(lock)), None));
    }

    /// Records why the lock was not acquired yet, for waiters whose deadline comes before they get the permit.
    pub(crate) fn note(&self, refusal: &Refusal) {
        self.change(|line| line.refusal = Some(refusal.clone()));
    }

    fn change(&self, change: impl FnOnce(&mut KeyLine)) {
        let mut state = self.lines.lock();
        let line = state.lines.get_mut(&self.key);
        if let Some(line) = line.filter(|line| line.line.is_permit(self.number)) {
            change(line);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.number != PASSED_ON {
            self.lines.pass_on(&self.key, self.number);
        }
    }
}

impl Waiter {
    /// Waits for the permit until `deadline`. If the validity of the lock ahead ends without a release, the permit passes on
    /// at that time; while no lock is held yet, this is checked every `recheck_interval`.
    ///
    /// # Errors
    /// Why the callers ahead did not get the lock.
    pub(crate) async fn wait(mut self, deadline: Time, recheck_interval: Duration) -> Result<Permit, Refusal> {
        loop {
            let ends = self.lines.pass_on_if_over(&self.key);
            let look_up = ends.unwrap_or_else(|| clock::now() + recheck_interval.min(FOREVER));
            match clock::timeout_at(deadline.min(look_up), &mut self.permit).await {
                Ok(Ok(permit)) => return Ok(permit),
                Err(_) if clock::now() < deadline => {}
                Ok(Err(_)) | Err(_) => return Err(self.lines.refusal(&self.key)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(lines: &Lines) -> Permit {
        lines.try_enter("k").unwrap()
    }

    fn behind(lines: &Lines) -> Waiter {
        match lines.enter("k", clock::now()) {
            Entered::Behind(waiter) => waiter,
            Entered::First(_) => panic!("nobody is there"),
        }
    }

    fn soon() -> Time {
        clock::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_passes_over_those_who_are_gone() {
        let lines = Lines::default();
        let permit = first(&lines);
        assert!(lines.try_enter("k").is_none());
        let (gone, late, next) = (behind(&lines), behind(&lines), behind(&lines));
        drop(gone);
        drop(permit);
        // The permit is sent to a waiter that does not take it.
        drop(late);
        let permit = next.wait(soon(), Duration::MAX).await.unwrap();
        assert!(!lines.is_empty());
        drop(permit);
        assert!(lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_whose_time_is_over_gets_the_reason() {
        let lines = Lines::default();
        let permit = first(&lines);
        let deadline = clock::now() + Duration::from_millis(5);
        let wait = behind(&lines).wait(deadline, Duration::MAX);
        assert_eq!(wait.await.unwrap_err(), Refusal::Contended);
        let refusal = Refusal::NoQuorum { causes: Vec::new() };
        permit.note(&refusal);
        let deadline = clock::now() + Duration::from_millis(5);
        assert_eq!(behind(&lines).wait(deadline, Duration::MAX).await.unwrap_err(), refusal);
        assert!(lines.front("k").is_none());
    }
}
