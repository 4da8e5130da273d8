use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// When each acquire of one app server and arm began that has not ended yet. It can be read from any thread.
#[derive(Debug, Default)]
pub struct Waiting(Mutex<Starts>);

#[derive(Debug, Default)]
struct Starts {
    /// Each has a number too, because two may begin at the same instant.
    pending: BTreeSet<(Instant, u64)>,
    begun: u64,
}

/// An acquire under way. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    waiting: &'a Waiting,
    start: (Instant, u64),
}

impl Waiting {
    /// When the oldest acquire began.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        self.starts().pending.first().map(|(at, _)| *at)
    }

    pub(super) fn begin(&self, at: Instant) -> Pending<'_> {
        let mut starts = self.starts();
        starts.begun += 1;
        let start = (at, starts.begun);
        starts.pending.insert(start);
        Pending { waiting: self, start }
    }

    fn starts(&self) -> MutexGuard<'_, Starts> {
        // After a panic between two statements, the set is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.waiting.starts().pending.remove(&self.start);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_is_the_first_that_has_not_ended() {
        let (waiting, now) = (Waiting::default(), Instant::now());
        assert_eq!(waiting.oldest(), None);
        let first = waiting.begin(now);
        let twin = waiting.begin(now);
        let later = waiting.begin(now + Duration::from_millis(1));
        drop(first);
        assert_eq!(waiting.oldest(), Some(now), "its twin is still there");
        drop(twin);
        assert_eq!(waiting.oldest(), Some(now + Duration::from_millis(1)));
        drop(later);
        assert_eq!(waiting.oldest(), None);
    }
}
