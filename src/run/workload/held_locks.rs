use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::under_test::HeldLock;

/// The locks that workers of one app server and arm hold, and what has become of them since the engine's last visit. It can be read
/// from any thread.
#[derive(Debug, Default)]
pub struct HeldLocks {
    kept: Mutex<Kept>,
    /// The keys of those that were held when the app server died.
    orphans: OnceLock<Vec<String>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By their numbers.
    open: BTreeMap<u64, Arc<LiveHold>>,
    begun: u64,
    news: Vec<HoldNews>,
}

/// One worker's hold of a lock; arms without a lock have holds too.
#[derive(Debug)]
pub struct LiveHold {
    /// Its number, among those of this app server and arm.
    pub number: u64,
    /// The number of its worker.
    pub worker: usize,
    /// Whether its request belongs to the measured part.
    pub measured: bool,
    /// The key of the lock.
    key: Box<str>,
    /// The lock, if it is one on nodes.
    pub lock: Option<HeldLock>,
}

/// A hold has begun or ended.
#[derive(Debug, Clone)]
pub struct HoldNews {
    /// When. It is read under the lock of the buffer, so that what is found later has happened later.
    pub at: Instant,
    /// Which one.
    pub hold: Arc<LiveHold>,
    /// Whether it has ended.
    pub ended: bool,
}

/// A hold that has not ended. It ends when this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    of: &'a HeldLocks,
    number: u64,
}

impl LiveHold {
    /// The key of the lock.
    pub fn key(&self) -> &str {
        self.lock.as_ref().map_or(&self.key, HeldLock::key)
    }

    /// Until when its holder has reason to rely on the lock, as far as is known by now; `None` if that has no end, as with a lock that is on
    /// no nodes.
    pub fn relied_until(&self) -> Option<Instant> {
        self.lock.as_ref().and_then(HeldLock::relied_until)
    }
}

impl HeldLocks {
    /// The locks on nodes that are held now.
    pub fn now(&self) -> Vec<HeldLock> {
        let kept = self.kept();
        kept.open.values().filter_map(|hold| hold.lock.clone()).collect()
    }

    /// Notes that a worker holds `lock`, or what has no nodes under `key`, until the result is dropped.
    pub fn enter(&self, worker: usize, measured: bool, key: &str, lock: Option<HeldLock>) -> Held<'_> {
        let mut kept = self.kept();
        kept.begun += 1;
        let number = kept.begun;
        let hold = Arc::new(LiveHold {
            number,
            worker,
            measured,
            key: if lock.is_some() { Box::default() } else { key.into() },
            lock,
        });
        kept.open.insert(number, Arc::clone(&hold));
        kept.news.push(HoldNews {
            at: Instant::now(),
            hold,
            ended: false,
        });
        Held { of: self, number }
    }

    /// What has begun and ended since the last call, in order; `empty` is used for what comes next.
    pub fn news(&self, empty: Vec<HoldNews>) -> Vec<HoldNews> {
        mem::replace(&mut self.kept().news, empty)
    }

    /// Notes that the app server has died at `at`: nobody will release what is held now. A lock whose validity has ended was lost
    /// before.
    pub fn orphan(&self, at: Instant) {
        let valid = self.now().into_iter().filter(HeldLock::is_valid);
        // It dies once.
        let _ = self.orphans.set(valid.map(|lock| lock.key().to_owned()).collect());
        let kept = &mut *self.kept();
        let open = mem::take(&mut kept.open).into_values();
        kept.news.extend(open.map(|hold| HoldNews { at, hold, ended: true }));
    }

    /// The keys of the locks that were held, and valid, when the app server died.
    pub fn orphans(&self) -> Vec<String> {
        self.orphans.get().cloned().unwrap_or_default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // After a panic between two statements, what is kept is still valid.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut kept = self.of.kept();
        // Those of a dead app server have ended before.
        if let Some(hold) = kept.open.remove(&self.number) {
            let (at, ended) = (Instant::now(), true);
            kept.news.push(HoldNews { at, hold, ended });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(locks: &HeldLocks) -> Vec<(u64, bool)> {
        let news = locks.news(Vec::new());
        assert!(news.is_sorted_by_key(|news| news.at));
        news.iter().map(|news| (news.hold.number, news.ended)).collect()
    }

    #[test]
    fn each_hold_is_told_when_it_begins_and_when_it_ends() {
        let locks = HeldLocks::default();
        let first = locks.enter(3, true, "a", None);
        let second = locks.enter(4, false, "a", None);
        drop(first);
        assert_eq!(told(&locks), [(1, false), (2, false), (1, true)]);
        drop(second);
        assert_eq!((told(&locks), told(&locks)), (vec![(2, true)], Vec::new()));
    }

    #[test]
    fn holds_of_an_app_server_that_dies_end_then_and_only_once() {
        let locks = HeldLocks::default();
        let held = locks.enter(1, true, "a", None);
        let at = Instant::now();
        locks.orphan(at);
        drop(held);
        let news = locks.news(Vec::new());
        assert_eq!(
            news.iter()
                .filter(|news| news.ended)
                .map(|news| news.at)
                .collect::<Vec<_>>(),
            [at]
        );
    }
}
