//! The shared side of one node: the queue that callers push to, and what is known about its state.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::job::Job;
use crate::model::Cause;

/// More unwritten commands than this, and the node gets no new ones but deletes.
const QUEUE_LIMIT: usize = 1 << 15;

/// More unwritten commands than this, and deletes are left to the TTL of their keys.
const OWED_LIMIT: usize = 1 << 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// The first attempt to connect is under way: commands wait for it.
    Connecting,
    Up,
    /// Connections are refused or broken: commands fail at once.
    Down,
    /// The task is gone with its runtime: nothing will ever be sent.
    Ended,
}

#[derive(Debug)]
struct State {
    link: Link,
    suspect: bool,
    abandoned: bool,
    queue: VecDeque<Job>,
}

impl State {
    /// Why the node can't be asked now.
    fn obstacle(&self) -> Option<Cause> {
        match self.link {
            Link::Down | Link::Ended => Some(Cause::Refused),
            _ if self.suspect || self.queue.len() >= QUEUE_LIMIT => Some(Cause::Suspect),
            Link::Connecting | Link::Up => None,
        }
    }

    fn owe(&mut self, job: Job) {
        if self.link != Link::Ended && self.queue.len() < OWED_LIMIT {
            self.queue.push_back(job);
        }
    }
}

/// One node as callers and the task that owns its connection see it.
#[derive(Debug)]
pub(super) struct Node {
    state: Mutex<State>,
    up: watch::Sender<bool>,
    /// Wakes the connection's task: there is something in the queue, or nobody uses the node any more.
    pub(super) wake: Notify,
}

impl Node {
    pub(super) fn new() -> Self {
        let state = State {
            link: Link::Connecting,
            suspect: false,
            abandoned: false,
            queue: VecDeque::new(),
        };
        Self {
            state: Mutex::new(state),
            up: watch::Sender::new(false),
            wake: Notify::new(),
        }
    }

    /// Queues a command; never waits. What can't be sent now fails at once.
    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        let Some(cause) = state.obstacle() else {
            state.queue.push_back(job);
            drop(state);
            return self.wake.notify_one();
        };
        // Callers are told without the lock held: a delete that is owed goes back into the queue after it.
        drop(state);
        if let Some(owed) = job.fail(cause) {
            self.owe([owed]);
            self.wake.notify_one();
        }
    }

    /// Queues deletes again that were not run.
    pub(super) fn owe(&self, jobs: impl IntoIterator<Item = Job>) {
        let now = Instant::now();
        let mut state = self.lock();
        jobs.into_iter()
            .filter(|job| !job.has_expired(now))
            .for_each(|job| state.owe(job));
    }

    /// Why a command that was never written was not: what to tell whoever withdraws it.
    pub(super) fn unasked(&self) -> Cause {
        if self.lock().link == Link::Up {
            Cause::Suspect
        } else {
            Cause::Refused
        }
    }

    /// Whether there is a connection; changes are seen by the receiver.
    pub(super) fn watch(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }

    /// The next command to write.
    pub(super) fn pop(&self) -> Option<Job> {
        self.lock().queue.pop_front()
    }

    /// A node that owes replies for too long gets no new commands but deletes, until it replies.
    pub(super) fn set_suspect(&self, suspect: bool) {
        self.lock().suspect = suspect;
    }

    /// The connection stands. What the node owes from earlier ones is not worth sending if it expired by itself.
    pub(super) fn connected(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.link = Link::Up;
        state.suspect = false;
        state.queue.retain(|job| !job.has_expired(now));
        drop(state);
        self.up.send_replace(true);
    }

    /// There is no connection. Whether the commands in `written` ran is not known; those in the queue never will.
    /// Deletes wait for the next connection.
    pub(super) fn disconnected(&self, written: impl IntoIterator<Item = Job>) {
        let queue = self.leave(Link::Down);
        let written = written.into_iter().filter_map(|job| job.fail(Cause::Disconnected));
        let queue = queue.into_iter().filter_map(|job| job.fail(Cause::Refused));
        // Callers are told before the lock is taken.
        let owed: Vec<_> = written.chain(queue).collect();
        self.owe(owed);
    }

    /// Whether there are deletes left that are worth another connection.
    pub(super) fn is_owing(&self) -> bool {
        let now = Instant::now();
        let mut state = self.lock();
        state.queue.retain(|job| !job.has_expired(now));
        !state.queue.is_empty()
    }

    /// Nobody will push any more: the task ends once nothing is owed.
    pub(super) fn abandon(&self) {
        self.lock().abandoned = true;
        self.wake.notify_one();
    }

    /// Whether nobody uses the node any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Nothing will be sent any more.
    pub(super) fn end(&self) {
        for job in self.leave(Link::Ended) {
            job.fail(Cause::Refused);
        }
    }

    fn leave(&self, link: Link) -> VecDeque<Job> {
        let mut state = self.lock();
        state.link = link;
        state.suspect = false;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        self.up.send_replace(false);
        queue
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::{
        super::{
            ballot::Ballot,
            command::Packed,
            job::{Purpose, Report},
            reply::Reply,
            round::Round,
            tally::Slot,
        },
        *,
    };

    const TIMEOUT: Duration = Duration::from_millis(50);

    fn vote(ballot: &Arc<Ballot>) -> Job {
        let purpose = Purpose::Vote {
            ballot: Arc::clone(ballot),
            index: 0,
        };
        Job {
            command: Packed::from(*b"set"),
            timeout: TIMEOUT,
            purpose,
        }
    }

    fn delete(until: Instant) -> Job {
        Job {
            command: Packed::from(*b"delete"),
            timeout: TIMEOUT,
            purpose: Purpose::Delete { until, report: None },
        }
    }

    fn ballot() -> Arc<Ballot> {
        Arc::new(Ballot::new(1, 1, Arc::default()))
    }

    fn cause(ballot: &Ballot) -> Slot {
        ballot.slots()[0].clone()
    }

    #[test]
    fn a_suspect_node_gets_only_deletes() {
        let node = Node::new();
        node.connected();
        node.set_suspect(true);
        let asked = ballot();
        node.push(vote(&asked));
        assert_eq!(cause(&asked), Slot::No(Cause::Suspect));
        node.push(delete(Instant::now() + Duration::from_secs(9)));
        assert!(matches!(
            node.pop(),
            Some(Job {
                purpose: Purpose::Delete { .. },
                ..
            })
        ));
        node.set_suspect(false);
        let asked = ballot();
        node.push(vote(&asked));
        assert_eq!(cause(&asked), Slot::Queued);
    }

    #[test]
    fn a_broken_connection_tells_written_from_unwritten_and_keeps_deletes_until_their_keys_expire() {
        let node = Node::new();
        node.connected();
        let (written, queued) = (ballot(), ballot());
        node.push(vote(&queued));
        let soon = Instant::now();
        node.disconnected([vote(&written), delete(soon + Duration::from_secs(9)), delete(soon)]);
        assert_eq!(cause(&written), Slot::No(Cause::Disconnected));
        assert_eq!(cause(&queued), Slot::No(Cause::Refused));
        let refused = ballot();
        node.push(vote(&refused));
        assert_eq!(cause(&refused), Slot::No(Cause::Refused));
        node.connected();
        assert!(node.pop().is_some());
        assert!(node.pop().is_none());
    }

    #[test]
    fn a_delete_is_owed_until_the_node_runs_it() {
        let until = Instant::now() + Duration::from_secs(9);
        let round = Arc::new(Round::new(1));
        let report = Report {
            round: Arc::clone(&round),
            index: 0,
        };
        let job = Job {
            purpose: Purpose::Delete {
                until,
                report: Some(report),
            },
            ..delete(until)
        };
        let owed = job.reply(Reply::Error("LOADING".into())).expect("still owed");
        let owed = owed.reply(Reply::Error("LOADING".into())).expect("still owed");
        assert!(owed.reply(Reply::Int(1)).is_none());
    }

    #[test]
    fn an_ended_node_keeps_nothing() {
        let node = Node::new();
        let asked = ballot();
        node.push(vote(&asked));
        node.end();
        assert_eq!(cause(&asked), Slot::No(Cause::Refused));
        node.push(delete(Instant::now() + Duration::from_secs(9)));
        assert!(!node.is_owing());
    }
}
