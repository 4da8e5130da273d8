use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::oracle::holds::hash_of;
use crate::under_test::HeldLock;
use lockstorm_lock::Outcome;

/// How many holds are freed with each change; each hold changes twice.
const FREED: usize = 3;

/// The locks that workers of one app server and arm hold, and what has become of them since the engine's last visit. It can be read
/// from any thread.
#[derive(Debug, Default)]
pub struct HeldLocks {
    /// Whether it tells of what is no hold, too.
    tells_all: bool,
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
    /// What the judge has given back. It is freed a few at a time: nobody is to wait long for that.
    judged: Vec<Arc<LiveHold>>,
}

/// One worker's hold of a lock. Work without a lock is one, too: of arms without a lock, and of those that proceed without the one that
/// they did not get.
#[derive(Debug)]
pub struct LiveHold {
    /// Its number, among those of this app server and arm.
    pub number: u64,
    /// The number of its worker.
    pub worker: usize,
    /// Whether its request belongs to the measured part.
    pub measured: bool,
    /// When its request was begun.
    pub asked: Instant,
    /// Whether its worker has the lock.
    pub has_lock: bool,
    /// The key of the lock.
    key: Box<str>,
    /// Its hash.
    key_hash: u64,
    /// The lock, if it is one on nodes.
    pub lock: Option<HeldLock>,
    /// What it sold, once that is written.
    pub sold: OnceLock<Sold>,
    /// Whether its write began after the validity of the lock had ended.
    writes_late: AtomicBool,
    /// Whether its app server died before it ended.
    has_died: AtomicBool,
    /// Whether it outlasted its lock only because this machine stalled its app server. It is known once the hold has ended.
    is_stalled: AtomicBool,
}

/// A sale that read a stock and wrote it back: with the name of its worker it is one order of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sold {
    /// When it was written, in microseconds since second 0, as in the ledger.
    pub at_us: i64,
    /// The units that it left.
    pub left: u64,
}

/// Something has happened to a lock.
#[derive(Debug, Clone)]
pub struct HoldNews {
    /// When. It is read under the lock of the buffer, so that what is found later has happened later.
    pub at: Instant,
    /// The number of the hold, and the hash of its key; 0 of what is none.
    pub number: u64,
    /// The hash of its key.
    pub key_hash: u64,
    /// What.
    pub what: Happened,
}

/// What happens to locks.
#[derive(Debug, Clone)]
pub enum Happened {
    /// A hold has begun.
    Began(Arc<LiveHold>),
    /// It has ended.
    Ended(Arc<LiveHold>),
    /// Its lock was given back, after it had ended, and whether enough nodes have confirmed that. Only a history tells it.
    GivenBack(Arc<LiveHold>, bool),
    /// A lock was refused. Only a history tells it.
    Refused(Box<Refused>),
    /// Another program was asked for a lock. What it tries meanwhile is not known.
    Asked,
    /// That request has ended, granted or not.
    Answered,
    /// A lock was not granted: of the engine's it is one attempt, of another program's a whole request.
    NotGranted {
        /// When it was asked for.
        asked: Instant,
        /// Whether nodes are missing; otherwise another client holds the lock.
        lacks_nodes: bool,
    },
}

/// A request for a lock of another program, until this is dropped.
#[derive(Debug)]
pub struct Asking<'a> {
    of: &'a HeldLocks,
    key_hash: u64,
}

/// A lock that was not granted.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The number of the worker.
    pub worker: usize,
    /// Whether its request belongs to the measured part.
    pub measured: bool,
    /// The key of the lock.
    pub key: String,
    /// When it was asked for.
    pub asked: Instant,
    /// Whether somebody else holds it.
    pub busy: bool,
}

/// A hold that has not ended. It ends when this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    of: &'a HeldLocks,
    hold: Arc<LiveHold>,
}

impl LiveHold {
    /// The key of the lock.
    pub fn key(&self) -> &str {
        self.lock.as_ref().map_or(&self.key, HeldLock::key)
    }

    /// Whether its app server died before it ended.
    pub fn has_died(&self) -> bool {
        self.has_died.load(Ordering::Relaxed)
    }

    /// Until when its holder has reason to rely on the lock, as far as is known by now; `None` if that has no end, as with a lock that is on
    /// no nodes.
    pub fn relied_until(&self) -> Option<Instant> {
        self.lock.as_ref().and_then(HeldLock::relied_until)
    }

    /// Whether it outlasted its lock only because this machine stalled its app server; known once it has ended.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }
}

impl HoldNews {
    fn of(at: Instant, what: Happened) -> Self {
        let (number, key_hash) = match &what {
            Happened::Began(hold) | Happened::Ended(hold) | Happened::GivenBack(hold, _) => {
                (hold.number, hold.key_hash)
            }
            Happened::Refused(_) | Happened::Asked | Happened::Answered | Happened::NotGranted { .. } => (0, 0),
        };
        Self {
            at,
            number,
            key_hash,
            what,
        }
    }
}

impl Kept {
    /// The time is read under the lock of the buffer.
    fn tell(&mut self, what: Happened) {
        self.news.push(HoldNews::of(Instant::now(), what));
        self.judged.truncate(self.judged.len().saturating_sub(FREED));
    }

    /// Tells what is no hold.
    fn tell_of(&mut self, key_hash: u64, what: Happened) {
        self.tell(what);
        if let Some(news) = self.news.last_mut() {
            news.key_hash = key_hash;
        }
    }
}

impl HeldLocks {
    /// Of what is no hold it only tells if `tells_all`.
    pub fn new(tells_all: bool) -> Self {
        Self {
            tells_all,
            ..Self::default()
        }
    }

    /// How many locks are held now.
    pub fn count(&self) -> usize {
        self.kept().open.values().filter(|hold| hold.has_lock).count()
    }

    /// The locks on nodes that are held now.
    pub fn now(&self) -> Vec<HeldLock> {
        let kept = self.kept();
        kept.open.values().filter_map(|hold| hold.lock.clone()).collect()
    }

    /// Notes that another program is asked for the lock `key`, until the result is dropped.
    pub fn ask(&self, key: &str) -> Asking<'_> {
        let key_hash = hash_of(key);
        self.kept().tell_of(key_hash, Happened::Asked);
        Asking { of: self, key_hash }
    }

    /// Notes that the lock `key`, which was asked for at `asked`, was not granted.
    pub fn not_granted(&self, key: &str, asked: Instant, outcome: Outcome) {
        let lacks_nodes = outcome != Outcome::Contended;
        let what = Happened::NotGranted { asked, lacks_nodes };
        self.kept().tell_of(hash_of(key), what);
    }

    /// Notes that a worker holds `lock`, or what has no nodes under `key`, until the result is dropped. It asked at `asked`.
    pub fn enter(&self, worker: usize, measured: bool, asked: Instant, key: &str, lock: Option<HeldLock>) -> Held<'_> {
        self.begin(worker, measured, asked, key, lock, true)
    }

    /// Notes that a worker works without the lock `key` until the result is dropped.
    pub fn enter_without_lock(&self, worker: usize, measured: bool, asked: Instant, key: &str) -> Held<'_> {
        self.begin(worker, measured, asked, key, None, false)
    }

    fn begin(
        &self,
        worker: usize,
        measured: bool,
        asked: Instant,
        key: &str,
        lock: Option<HeldLock>,
        has_lock: bool,
    ) -> Held<'_> {
        let mut kept = self.kept();
        kept.begun += 1;
        let number = kept.begun;
        let hold = Arc::new(LiveHold {
            number,
            worker,
            measured,
            asked,
            has_lock,
            key_hash: hash_of(lock.as_ref().map_or(key, HeldLock::key)),
            key: if lock.is_some() { Box::default() } else { key.into() },
            lock,
            sold: OnceLock::new(),
            writes_late: AtomicBool::new(false),
            has_died: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
        });
        kept.open.insert(number, Arc::clone(&hold));
        kept.tell(Happened::Began(Arc::clone(&hold)));
        Held { of: self, hold }
    }

    /// Notes that a lock was not granted.
    pub fn refused(&self, refused: impl FnOnce() -> Refused) {
        if self.tells_all {
            self.kept().tell(Happened::Refused(Box::new(refused())));
        }
    }

    /// What has begun and ended since the last call, in order; `empty` is used for what comes next, and what is `judged` is freed here.
    pub fn news(&self, empty: Vec<HoldNews>, judged: impl Iterator<Item = Arc<LiveHold>>) -> Vec<HoldNews> {
        let mut kept = self.kept();
        kept.judged.extend(judged);
        mem::replace(&mut kept.news, empty)
    }

    /// Notes that the app server has died at `at`: nobody will release what is held now. A lock whose validity has ended was lost
    /// before.
    pub fn orphan(&self, at: Instant) {
        let valid = self.now().into_iter().filter(HeldLock::is_valid);
        // It dies once.
        let _ = self.orphans.set(valid.map(|lock| lock.key().to_owned()).collect());
        let kept = &mut *self.kept();
        let open = mem::take(&mut kept.open).into_values();
        kept.news.extend(open.map(|hold| {
            hold.has_died.store(true, Ordering::Relaxed);
            HoldNews::of(at, Happened::Ended(hold))
        }));
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

impl<'a> Held<'a> {
    /// Notes that its write begins although the validity of the lock has ended.
    pub fn writes_late(&self) {
        self.hold.writes_late.store(true, Ordering::Relaxed);
    }

    /// Whether that was noted.
    pub fn has_written_late(&self) -> bool {
        self.hold.writes_late.load(Ordering::Relaxed)
    }

    /// Notes that it outlasts its lock only because this machine stalled its app server.
    pub fn is_stalled(&self) {
        self.hold.is_stalled.store(true, Ordering::Relaxed);
    }

    /// Notes what was sold; a section sells once.
    pub fn sold(&self, sold: Sold) {
        let _ = self.hold.sold.set(sold);
    }

    /// Ends it. The result takes in whether its release was confirmed.
    pub fn end(self) -> impl FnOnce(bool) + use<'a> {
        let (of, hold) = (self.of, self.of.tells_all.then(|| Arc::clone(&self.hold)));
        drop(self);
        move |is_confirmed| {
            if let Some(hold) = hold {
                of.kept().tell(Happened::GivenBack(hold, is_confirmed));
            }
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.of.kept().tell_of(self.key_hash, Happened::Answered);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut kept = self.of.kept();
        // Those of a dead app server have ended before.
        if let Some(hold) = kept.open.remove(&self.hold.number) {
            kept.tell(Happened::Ended(hold));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(locks: &HeldLocks) -> Vec<(u64, &'static str)> {
        let news = locks.news(Vec::new(), std::iter::empty());
        assert!(news.is_sorted_by_key(|news| news.at));
        let told = |news: &HoldNews| match &news.what {
            Happened::Began(hold) => (hold.number, "began"),
            Happened::Ended(hold) => (hold.number, "ended"),
            Happened::GivenBack(hold, is_confirmed) => {
                (hold.number, if *is_confirmed { "given back" } else { "perhaps" })
            }
            Happened::Refused(refused) => (0, if refused.busy { "busy" } else { "refused" }),
            Happened::Asked | Happened::Answered => (0, "asks"),
            Happened::NotGranted { lacks_nodes, .. } => (0, if *lacks_nodes { "lacks nodes" } else { "held" }),
        };
        news.iter().map(told).collect()
    }

    #[test]
    fn each_hold_is_told_when_it_begins_and_when_it_ends() {
        let locks = HeldLocks::default();
        let first = locks.enter(3, true, Instant::now(), "a", None);
        let second = locks.enter(4, false, Instant::now(), "a", None);
        drop(first);
        assert_eq!(told(&locks), [(1, "began"), (2, "began"), (1, "ended")]);
        drop(second);
        assert_eq!((told(&locks), told(&locks)), (vec![(2, "ended")], Vec::new()));
    }

    #[test]
    fn what_is_judged_is_freed_with_the_changes_that_follow() {
        let locks = HeldLocks::default();
        drop(locks.enter(1, true, Instant::now(), "a", None));
        let told = locks.news(Vec::new(), std::iter::empty());
        let holds: Vec<_> = told
            .into_iter()
            .filter_map(|news| match news.what {
                Happened::Began(hold) | Happened::Ended(hold) => Some(hold),
                _ => None,
            })
            .collect();
        let freed = Arc::downgrade(&holds[0]);
        locks.news(Vec::new(), holds.into_iter());
        assert!(freed.upgrade().is_some(), "nobody waits for it");
        let _next = locks.enter(2, true, Instant::now(), "a", None);
        assert!(freed.upgrade().is_none());
    }

    #[test]
    fn holds_of_an_app_server_that_dies_end_then_and_only_once() {
        let locks = HeldLocks::default();
        let held = locks.enter(1, true, Instant::now(), "a", None);
        let at = Instant::now();
        locks.orphan(at);
        drop(held);
        let news = locks.news(Vec::new(), std::iter::empty());
        let ended = news.iter().filter(|news| matches!(news.what, Happened::Ended(_)));
        assert_eq!(ended.map(|news| news.at).collect::<Vec<_>>(), [at]);
    }

    #[test]
    fn refusals_and_replies_to_releases_are_told_to_a_history_only() {
        let refused = || Refused {
            worker: 1,
            measured: true,
            key: "a".to_owned(),
            asked: Instant::now(),
            busy: true,
        };
        for tells_all in [false, true] {
            let locks = HeldLocks::new(tells_all);
            locks.refused(refused);
            for is_confirmed in [true, false] {
                locks.enter(1, true, Instant::now(), "a", None).end()(is_confirmed);
            }
            let told = told(&locks);
            let more = told.iter().filter(|(_, what)| !["began", "ended"].contains(what));
            let expected: &[_] = match tells_all {
                true => &[(0, "busy"), (1, "given back"), (2, "perhaps")],
                false => &[],
            };
            assert_eq!(more.copied().collect::<Vec<_>>(), expected);
            assert_eq!(told.len(), 4 + expected.len());
        }
    }
}
