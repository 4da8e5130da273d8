use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Instant;

use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::protocol::{Command, Time};
use crate::trace::event;

/// The number of commands sent to one node for locks. A script that is sent again because the node did not know it counts
/// twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// `SET … NX PX`.
    pub sets: u64,
    /// Extensions.
    pub extends: u64,
    /// Compare-and-deletes.
    pub deletes: u64,
}

/// The number of nodes whose commands are counted separately; further nodes are counted with the last one.
const MAX_NODES_APART: usize = 16;

/// What a lock is doing now. All clones of a [`Lock`](crate::Lock) share it, and any thread may read it.
#[derive(Debug, Default)]
pub struct Gauges {
    holding: AtomicUsize,
    partial: AtomicUsize,
    waiting: AtomicUsize,
    attempts: AtomicU64,
    failed: AtomicU64,
    waits: AtomicU64,
    given_up: AtomicU64,
    /// By node, and by command.
    sent: [[AtomicU64; 3]; MAX_NODES_APART],
    refusals: Hook,
    observer: Watcher,
}

#[derive(Default)]
struct Watcher(OnceLock<Box<dyn Observer>>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watcher").field(&self.0.get().is_some()).finish()
    }
}

/// A callback that gets the key, when the nodes were asked by an attempt that has failed, and what it came to.
#[derive(Default)]
struct Hook(OnceLock<Box<RefusedAttempt>>);

type RefusedAttempt = dyn Fn(&[u8], Instant, Outcome) + Send + Sync;

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hook").field(&self.0.get().is_some()).finish()
    }
}

impl Gauges {
    /// Locks held now: acquired, and neither released nor dropped.
    #[must_use]
    pub fn holding(&self) -> usize {
        self.holding.load(Relaxed)
    }

    /// Locks held now with fewer votes than nodes. A second holder can get in after the loss of fewer keys than with all
    /// votes.
    #[must_use]
    pub fn partial(&self) -> usize {
        self.partial.load(Relaxed)
    }

    /// Acquires that wait now, in a queue or between two attempts.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Attempts made since the lock was created.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Relaxed)
    }

    /// Attempts that failed for lack of nodes since the lock was created: no quorum, or unknown.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Waits begun since the lock was created: in line, for a release, and between two attempts. One acquire may wait
    /// several times.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    /// Deletes given up since the lock was created, because two connections broke when the node was to answer them. Their keys
    /// stay until their TTL is over.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Relaxed)
    }

    /// The number of commands sent to the node at this position since the lock was created.
    #[must_use]
    pub fn sent(&self, node: usize) -> Sent {
        let sent = |command| self.counter(node, command).load(Relaxed);
        Sent {
            sets: sent(Command::Set),
            extends: sent(Command::Extend),
            deletes: sent(Command::Delete),
        }
    }

    pub(crate) fn send(&self, node: usize, command: Command) {
        self.counter(node, command).fetch_add(1, Relaxed);
    }

    fn counter(&self, node: usize, command: Command) -> &AtomicU64 {
        &self.sent[node.min(MAX_NODES_APART - 1)][command as usize]
    }

    pub(crate) fn attempt(&self) {
        self.attempts.fetch_add(1, Relaxed);
    }

    /// Calls `hook` for each attempt that fails from now on, with its key, when it asked its nodes and what it came to. One acquire may
    /// make many. The callers' tasks call it, so it must be quick. Returns false and changes nothing if there is a hook already.
    pub fn on_refused_attempt(&self, hook: impl Fn(&[u8], Instant, Outcome) + Send + Sync + 'static) -> bool {
        self.refusals.0.set(Box::new(hook)).is_ok()
    }

    /// Tells `observer` what becomes of acquires from now on. Returns false and changes nothing if there is one already.
    pub fn observe(&self, observer: impl Observer + 'static) -> bool {
        self.observer.0.set(Box::new(observer)).is_ok()
    }

    /// Who is told what becomes of acquires.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.observer.0.get().map(AsRef::as_ref)
    }

    /// A lock that was asked for at `since` is released at `now`.
    pub(crate) fn end(&self, key: &[u8], since: Time, is_lost: bool, now: Time) {
        self.unhold();
        if is_lost {
            event!(warn, held = ?(now - since), "a lock was lost before it was released");
            event!(debug, key = %String::from_utf8_lossy(key), "this lock was lost");
        }
        match self.observer() {
            Some(observer) if is_lost => observer.lost(key, now - since),
            Some(observer) => observer.released(key, now - since),
            None => {}
        }
    }

    pub(crate) fn refuse(&self, key: &[u8], asked: Instant, outcome: Outcome) {
        if matches!(outcome, Outcome::NoQuorum | Outcome::Unknown) {
            self.failed.fetch_add(1, Relaxed);
        }
        if let Some(hook) = self.refusals.0.get() {
            hook(key, asked, outcome);
        }
    }

    pub(crate) fn give_up(&self) {
        event!(warn, "a delete was given up: its key stays until its TTL is over");
        self.given_up.fetch_add(1, Relaxed);
    }

    pub(crate) fn hold(&self) {
        self.holding.fetch_add(1, Relaxed);
    }

    fn unhold(&self) {
        self.holding.fetch_sub(1, Relaxed);
    }

    /// Takes note of whether a held lock has fewer votes than nodes, before and after a change.
    pub(crate) fn change_partial(&self, before: bool, after: bool) {
        match (before, after) {
            (false, true) => self.partial.fetch_add(1, Relaxed),
            (true, false) => self.partial.fetch_sub(1, Relaxed),
            _ => 0,
        };
    }

    /// Counts a waiting acquire until the result is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Relaxed);
        self.waits.fetch_add(1, Relaxed);
        Waiting(self)
    }
}

pub(crate) struct Waiting<'a>(&'a Gauges);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}
