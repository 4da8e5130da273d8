//! Where one attempt stands on each node: votes, how long each vote can be relied on, what the release did.
//!
//! Pure state: no clock, no socket. The times in it come from the callers.

use std::{task::Waker, time::Duration};

use smallvec::SmallVec;
use tokio::time::Instant;

use super::{
    Gauges, Released,
    reply::Reply,
    tally::{Slot, is_decided, quorum, validity_end, votes},
};
use crate::model::Cause;

/// Room for this many nodes without an allocation of its own.
pub(super) type PerNode<T> = SmallVec<[T; 5]>;

/// The place of a node in a set of nodes. Of more than 64 the last ones are not told apart.
fn bit(index: usize) -> u64 {
    1 << index.min(63)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The caller waits for votes.
    Asking,
    /// The lock is held.
    Held,
    /// The lock was released or never had: nothing more may be written, and every key is taken back.
    Closed,
}

/// What a step means for others.
#[derive(Debug, Default)]
pub(super) struct Effect {
    /// Who waits for this, to be woken when the ballot is not locked any more.
    pub(super) wake: Option<Waker>,
    /// The node has nothing of this attempt and will be told nothing more of it.
    pub(super) finished: bool,
    /// The lock was lost just now.
    pub(super) lost: bool,
}

/// A place for each node's vote. It outlives the attempt: late votes still raise those of a held lock.
#[derive(Debug)]
pub(super) struct Ballot {
    phase: Phase,
    slots: PerNode<Slot>,
    /// For each node, until when its key is known to stand.
    stands: PerNode<Option<Instant>>,
    /// For each node, whether it ever granted its vote, after the release too.
    granted: u64,
    /// For each node, whether a `SET` was written that it has not answered.
    asked: u64,
    /// The latest end of validity that was ever known.
    relied: Option<Instant>,
    /// Once lost, a lock stays lost, whatever an extension that was under way says.
    lost: bool,
    /// When a `SET` was last written.
    written: Option<Instant>,
    /// How many nodes were asked to delete the key.
    told: usize,
    released: Released,
    waiter: Option<Waker>,
}

impl Ballot {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            phase: Phase::Asking,
            slots: (0..nodes).map(|_| Slot::Queued).collect(),
            stands: (0..nodes).map(|_| None).collect(),
            granted: 0,
            asked: 0,
            relied: None,
            lost: false,
            written: None,
            told: 0,
            released: Released::default(),
            waiter: None,
        }
    }

    fn quorum(&self) -> usize {
        quorum(self.slots.len())
    }

    pub(super) fn is_held(&self) -> bool {
        self.phase == Phase::Held
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The number of votes so far.
    pub(super) fn votes(&self) -> usize {
        votes(&self.slots)
    }

    /// The nodes that ever granted their vote, after the release too.
    pub(super) const fn granted(&self) -> usize {
        self.granted.count_ones() as usize
    }

    /// Whether no further vote can come: every node has answered, or was not asked in time.
    pub(super) fn is_answered(&self) -> bool {
        self.asked == 0 && (self.phase == Phase::Closed || !self.slots.contains(&Slot::Queued))
    }

    /// The latest end of validity that was ever known, whatever became of the lock.
    pub(super) fn relied(&self) -> Option<Instant> {
        self.ends().max(self.relied)
    }

    /// Says that the `SET` for node `index` is being written. False if it was withdrawn and must not be.
    pub(super) fn write(&mut self, index: usize, now: Instant) -> bool {
        if self.phase == Phase::Closed {
            return false;
        }
        self.slots[index] = Slot::Written;
        self.asked |= bit(index);
        self.written = Some(now);
        true
    }

    /// Until when replies may be waited for at `now`, if nodes may take `timeout` each. That counts from the writing: what
    /// still waits behind others' commands is not the nodes' fault.
    pub(super) fn patience(&self, now: Instant, timeout: Duration) -> Instant {
        let queued = self.slots.contains(&Slot::Queued);
        self.written.filter(|_| !queued).unwrap_or(now) + timeout
    }

    /// Takes the reply of node `index` to a `SET`; a vote stands until `stands`, if it may count at all.
    pub(super) fn vote(&mut self, index: usize, reply: Reply, stands: Option<Instant>, gauges: &Gauges) -> Effect {
        self.asked &= !bit(index);
        let slot = match reply {
            Reply::Ok => {
                self.stands[index] = stands;
                self.granted |= bit(index);
                Slot::Yes
            }
            Reply::Nil => Slot::No(Cause::Held),
            reply => Slot::No(reply.cause()),
        };
        self.put(index, slot, gauges)
    }

    /// Writes down that node `index` gives no reply.
    pub(super) fn fail(&mut self, index: usize, cause: Cause, gauges: &Gauges) -> Effect {
        self.asked &= !bit(index);
        self.put(index, Slot::No(cause), gauges)
    }

    fn put(&mut self, index: usize, slot: Slot, gauges: &Gauges) -> Effect {
        // Once closed, a delete is on its way to every node that may have had the key then.
        let finished = match self.phase {
            Phase::Closed => !self.slots[index].may_hold(),
            Phase::Asking | Phase::Held => !slot.may_hold(),
        };
        let complete = slot == Slot::Yes && self.votes() + 1 == self.slots.len();
        if self.phase != Phase::Closed || finished {
            self.slots[index] = slot;
        }
        let mut wake = None;
        match self.phase {
            Phase::Asking if is_decided(self.quorum(), &self.slots) => wake = self.waiter.take(),
            Phase::Held if complete => gauges.unmiss_votes(),
            _ => {}
        }
        Effect {
            wake,
            finished,
            lost: false,
        }
    }

    /// Whether no further vote can change the outcome.
    pub(super) fn is_decided(&self) -> bool {
        is_decided(self.quorum(), &self.slots)
    }

    /// Whom to wake when the votes, or the answers to the release, are there.
    pub(super) fn wait(&mut self, waker: &Waker) {
        match &mut self.waiter {
            Some(waiter) => waiter.clone_from(waker),
            None => self.waiter = Some(waker.clone()),
        }
    }

    /// The caller has the lock: from now on late votes count in its gauges.
    pub(super) fn hold(&mut self, gauges: &Gauges) {
        self.phase = Phase::Held;
        gauges.hold();
        if self.votes() < self.slots.len() {
            gauges.miss_votes();
        }
    }

    /// Until when a quorum of keys is known to stand; none if fewer do.
    pub(super) fn ends(&self) -> Option<Instant> {
        validity_end(&self.stands)
    }

    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) const fn lose(&mut self) {
        self.lost = true;
    }

    /// Takes the answer of node `index` to an extension, at `now`: its key stands until `stands`, or is gone.
    pub(super) fn extended(&mut self, index: usize, stands: Option<Instant>, now: Instant, gauges: &Gauges) -> Effect {
        if self.phase != Phase::Held {
            return Effect::default();
        }
        // An answer that comes when the validity is over can't speak for the time in between.
        let over = self.is_over(now);
        self.relied = self.relied();
        self.stands[index] = stands.map(|stands| self.stands[index].map_or(stands, |before| before.max(stands)));
        let lost = !self.lost && (over || self.is_over(now));
        self.lost |= lost;
        if stands.is_none() {
            if self.votes() == self.slots.len() {
                gauges.miss_votes();
            }
            self.slots[index] = Slot::Gone;
        }
        Effect {
            wake: None,
            finished: stands.is_none(),
            lost,
        }
    }

    /// Whether too few keys are known to stand at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.ends().is_none_or(|ends| ends <= now)
    }

    /// The nodes that do not have the key and are to be asked for it once more; none of them twice at a time.
    pub(super) fn requeue_missing(&mut self) -> PerNode<usize> {
        let missing = |slot: &Slot| !slot.may_hold() && *slot != Slot::Queued;
        let missing: PerNode<usize> = (0..self.slots.len())
            .filter(|&index| missing(&self.slots[index]))
            .collect();
        for &index in &missing {
            self.slots[index] = Slot::Queued;
        }
        missing
    }

    /// Withdraws what was not written, and gives the nodes that must be told to delete the key. Only the first
    /// call gives any.
    pub(super) fn close(&mut self, gauges: &Gauges) -> PerNode<usize> {
        match self.phase {
            Phase::Closed => return PerNode::new(),
            Phase::Held => {
                gauges.unhold();
                if self.votes() < self.slots.len() {
                    gauges.unmiss_votes();
                }
            }
            Phase::Asking => {}
        }
        self.phase = Phase::Closed;
        self.waiter = None;
        let holders: PerNode<usize> = (0..self.slots.len())
            .filter(|&index| self.slots[index].may_hold())
            .collect();
        self.told = holders.len();
        self.released.unconfirmed = holders.len();
        holders
    }

    /// Takes the answer of a node to the release: whether it deleted the key; none if it gives no answer now.
    pub(super) fn deleted(&mut self, deleted: Option<bool>) -> Effect {
        match deleted {
            Some(true) => self.released.deleted += 1,
            Some(false) => self.released.gone += 1,
            None => {}
        }
        self.told -= 1;
        if deleted.is_some() {
            self.released.unconfirmed -= 1;
        }
        let wake = if self.released().is_some() {
            self.waiter.take()
        } else {
            None
        };
        Effect {
            wake,
            ..Effect::default()
        }
    }

    /// What the release did, once a quorum confirmed it or nobody is left to wait for.
    pub(super) fn released(&self) -> Option<Released> {
        let enough = self.released.deleted + self.released.gone >= self.quorum();
        (enough || self.told == 0).then_some(self.released)
    }

    /// What the release has done so far.
    pub(super) const fn released_so_far(&self) -> Released {
        self.released
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ballot(nodes: usize) -> (Ballot, Gauges, Instant) {
        (
            Ballot::new(nodes),
            Gauges::default(),
            Instant::now() + Duration::from_secs(9),
        )
    }

    #[test]
    fn what_was_written_is_taken_back_and_what_was_not_is_withdrawn() {
        let (mut ballot, gauges, stands) = ballot(5);
        for index in 0..4 {
            assert!(ballot.write(index, Instant::now()));
        }
        assert!(!ballot.vote(0, Reply::Ok, Some(stands), &gauges).finished);
        assert!(ballot.vote(1, Reply::Nil, None, &gauges).finished);
        assert!(!ballot.fail(2, Cause::Disconnected, &gauges).finished);
        assert_eq!(ballot.close(&gauges)[..], [0, 2, 3]);
        assert!(!ballot.write(4, Instant::now()));
        assert!(ballot.close(&gauges).is_empty());
        // Its delete is on its way: only the answer to that finishes it.
        assert!(!ballot.vote(3, Reply::Nil, None, &gauges).finished);
    }

    #[test]
    fn late_votes_correct_the_gauges() {
        let (mut ballot, gauges, stands) = ballot(3);
        ballot.vote(0, Reply::Ok, Some(stands), &gauges);
        ballot.vote(1, Reply::Ok, Some(stands), &gauges);
        ballot.hold(&gauges);
        assert_eq!((gauges.holding(), gauges.partial(), ballot.votes()), (1, 1, 2));
        ballot.vote(2, Reply::Ok, Some(stands), &gauges);
        assert_eq!((gauges.holding(), gauges.partial(), ballot.votes()), (1, 0, 3));
        ballot.close(&gauges);
        assert_eq!((gauges.holding(), gauges.partial()), (0, 0));
    }

    #[test]
    fn a_late_refusal_leaves_the_lock_partial_until_it_is_released() {
        let (mut ballot, gauges, stands) = ballot(3);
        ballot.vote(0, Reply::Ok, Some(stands), &gauges);
        ballot.vote(1, Reply::Ok, Some(stands), &gauges);
        ballot.hold(&gauges);
        ballot.vote(2, Reply::Nil, None, &gauges);
        assert_eq!(gauges.partial(), 1);
        ballot.close(&gauges);
        ballot.vote(2, Reply::Ok, Some(stands), &gauges);
        assert_eq!((gauges.holding(), gauges.partial()), (0, 0));
    }

    #[test]
    fn a_lock_is_relied_on_until_a_quorum_of_keys_may_be_gone() {
        let (mut ballot, gauges, first) = ballot(3);
        let now = Instant::now();
        let second = first + Duration::from_secs(1);
        for index in 0..3 {
            ballot.vote(index, Reply::Ok, Some(first), &gauges);
        }
        ballot.hold(&gauges);
        assert_eq!(ballot.ends(), Some(first));
        assert!(!ballot.extended(0, Some(second), now, &gauges).lost);
        assert_eq!(ballot.ends(), Some(first));
        assert!(!ballot.extended(1, Some(second), now, &gauges).lost);
        assert_eq!(ballot.ends(), Some(second));
        // One key less still leaves a quorum, but a shorter one.
        assert!(!ballot.extended(0, None, now, &gauges).lost);
        assert_eq!(ballot.ends(), Some(first));
        assert_eq!((ballot.votes(), gauges.partial()), (2, 1));
        assert_eq!(ballot.requeue_missing()[..], [0]);
        assert!(ballot.extended(1, None, now, &gauges).lost);
        assert!(ballot.is_lost());
        assert!(!ballot.extended(0, Some(second), now, &gauges).lost);
        assert!(ballot.is_lost());
    }

    #[test]
    fn an_extension_that_comes_too_late_finds_the_lock_lost() {
        let (mut ballot, gauges, first) = ballot(1);
        ballot.vote(0, Reply::Ok, Some(first), &gauges);
        ballot.hold(&gauges);
        assert!(
            ballot
                .extended(0, Some(first + Duration::from_secs(1)), first, &gauges)
                .lost
        );
    }

    #[test]
    fn a_release_is_over_when_a_quorum_confirmed_it_or_nobody_is_left() {
        let (mut ballot, gauges, stands) = ballot(3);
        for index in 0..3 {
            ballot.vote(index, Reply::Ok, Some(stands), &gauges);
        }
        ballot.close(&gauges);
        assert_eq!(ballot.released(), None);
        ballot.deleted(Some(true));
        ballot.deleted(None);
        assert_eq!(ballot.released(), None);
        ballot.deleted(Some(false));
        let expected = Released {
            deleted: 1,
            gone: 1,
            unconfirmed: 1,
        };
        assert_eq!(ballot.released(), Some(expected));
    }
}
