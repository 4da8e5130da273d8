use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What has begun and has not ended yet, in the order in which it began. It can be read from any thread.
#[derive(Debug)]
pub struct UnderWay<T>(Mutex<Entries<T>>);

#[derive(Debug)]
struct Entries<T> {
    /// By their numbers.
    all: BTreeMap<u64, T>,
    begun: u64,
}

/// Something that is under way. It ends when this is dropped.
#[derive(Debug)]
pub struct Entry<'a, T> {
    of: &'a UnderWay<T>,
    number: u64,
}

impl<T: Clone> UnderWay<T> {
    /// The one that began first.
    pub fn oldest(&self) -> Option<T> {
        self.entries().all.values().next().cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<T> {
        self.entries().all.values().cloned().collect()
    }
}

impl<T> UnderWay<T> {
    pub(super) fn begin(&self, what: T) -> Entry<'_, T> {
        let mut entries = self.entries();
        entries.begun += 1;
        let number = entries.begun;
        entries.all.insert(number, what);
        Entry { of: self, number }
    }

    fn entries(&self) -> MutexGuard<'_, Entries<T>> {
        // After a panic between two statements, the map is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        let (all, begun) = (BTreeMap::new(), 0);
        Self(Mutex::new(Entries { all, begun }))
    }
}

impl<T> Drop for Entry<'_, T> {
    fn drop(&mut self) {
        self.of.entries().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_oldest_is_the_first_that_has_not_ended() {
        let (waiting, now) = (UnderWay::default(), Instant::now());
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
