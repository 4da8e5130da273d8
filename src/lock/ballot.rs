//! The votes of the nodes for one attempt, shared by the caller and the connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    Gauges,
    reply::Reply,
    tally::{Slot, is_decided, votes},
};
use crate::model::Cause;

/// A place for each node's vote. It outlives the attempt: late votes still raise those of a held lock.
#[derive(Debug)]
pub(super) struct Ballot {
    quorum: usize,
    state: Mutex<State>,
    decided: Notify,
    gauges: Arc<Gauges>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    slots: Box<[Slot]>,
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

impl Ballot {
    pub(super) fn new(nodes: usize, quorum: usize, gauges: Arc<Gauges>) -> Self {
        let state = State {
            phase: Phase::Asking,
            slots: vec![Slot::Queued; nodes].into(),
        };
        Self {
            quorum,
            state: Mutex::new(state),
            decided: Notify::new(),
            gauges,
        }
    }

    /// Says that the command of node `index` is being written. False if it was withdrawn and must not be.
    pub(super) fn write(&self, index: usize) -> bool {
        let mut state = self.lock();
        if state.phase == Phase::Closed {
            return false;
        }
        state.slots[index] = Slot::Written;
        true
    }

    /// Takes the reply of node `index`.
    pub(super) fn reply(&self, index: usize, reply: Reply) {
        self.put(
            index,
            match reply {
                Reply::Ok => Slot::Yes,
                Reply::Nil => Slot::No(Cause::Held),
                Reply::Error(text) => Slot::No(Cause::Error(text)),
                Reply::Int(_) | Reply::Text => Slot::No(Cause::Error("unexpected reply".into())),
            },
        );
    }

    /// Writes down that node `index` gives no reply.
    pub(super) fn fail(&self, index: usize, cause: Cause) {
        self.put(index, Slot::No(cause));
    }

    fn put(&self, index: usize, slot: Slot) {
        let mut state = self.lock();
        let complete = slot == Slot::Yes && votes(&state.slots) + 1 == state.slots.len();
        state.slots[index] = slot;
        match state.phase {
            Phase::Asking if is_decided(self.quorum, &state.slots) => self.decided.notify_one(),
            Phase::Held if complete => self.gauges.unmiss_votes(),
            _ => {}
        }
    }

    /// Waits until no further vote can change the outcome, or until the time is over.
    pub(super) async fn decided(&self, until: Instant) {
        // A time that is over needs no word of its own: it shows as slots without an answer.
        let _ = timeout_at(until, self.decided.notified()).await;
    }

    /// The number of votes so far.
    pub(super) fn votes(&self) -> usize {
        votes(&self.lock().slots)
    }

    /// Where every vote stands now.
    pub(super) fn slots(&self) -> Box<[Slot]> {
        self.lock().slots.clone()
    }

    /// The caller has the lock: from now on late votes count in its gauges.
    pub(super) fn hold(&self) {
        let mut state = self.lock();
        state.phase = Phase::Held;
        self.gauges.hold();
        if votes(&state.slots) < state.slots.len() {
            self.gauges.miss_votes();
        }
    }

    /// Withdraws what was not written, and gives the nodes that must be told to delete the key. Only the first
    /// call gives any.
    pub(super) fn close(&self) -> Vec<usize> {
        let mut state = self.lock();
        match state.phase {
            Phase::Closed => return Vec::new(),
            Phase::Held => {
                self.gauges.unhold();
                if votes(&state.slots) < state.slots.len() {
                    self.gauges.unmiss_votes();
                }
            }
            Phase::Asking => {}
        }
        state.phase = Phase::Closed;
        state
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.may_hold())
            .map(|(index, _)| index)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot(nodes: usize) -> (Ballot, Arc<Gauges>) {
        let gauges = Arc::new(Gauges::default());
        (Ballot::new(nodes, nodes / 2 + 1, Arc::clone(&gauges)), gauges)
    }

    #[test]
    fn what_was_written_is_taken_back_and_what_was_not_is_withdrawn() {
        let (ballot, _) = ballot(5);
        for index in 0..4 {
            assert!(ballot.write(index));
        }
        ballot.reply(0, Reply::Ok);
        ballot.reply(1, Reply::Nil);
        ballot.fail(2, Cause::Disconnected);
        assert_eq!(ballot.close(), [0, 2, 3]);
        assert!(!ballot.write(4));
        assert!(ballot.close().is_empty());
    }

    #[test]
    fn late_votes_correct_the_gauges() {
        let (ballot, gauges) = ballot(3);
        ballot.reply(0, Reply::Ok);
        ballot.reply(1, Reply::Ok);
        ballot.hold();
        assert_eq!((gauges.holding(), gauges.partial(), ballot.votes()), (1, 1, 2));
        ballot.reply(2, Reply::Ok);
        assert_eq!((gauges.holding(), gauges.partial(), ballot.votes()), (1, 0, 3));
        ballot.close();
        assert_eq!((gauges.holding(), gauges.partial()), (0, 0));
    }

    #[test]
    fn a_late_refusal_leaves_the_lock_partial_until_it_is_released() {
        let (ballot, gauges) = ballot(3);
        ballot.reply(0, Reply::Ok);
        ballot.reply(1, Reply::Ok);
        ballot.hold();
        ballot.reply(2, Reply::Nil);
        assert_eq!(gauges.partial(), 1);
        ballot.close();
        ballot.reply(2, Reply::Ok);
        assert_eq!((gauges.holding(), gauges.partial()), (0, 0));
    }
}
