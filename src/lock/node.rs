//! The shared side of one node: the queue that callers push to, and what is known about its state.

use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use tokio::{sync::watch, time::Instant};

use super::job::{Delete, Done, Job};
use crate::model::Cause;

/// No more claims than this may have something on a node, or on their way to it: each has room for its delete.
const CLAIM_LIMIT: usize = 1 << 17;

/// No more questions and extensions than this may wait to be sent.
const QUEUE_LIMIT: usize = 1 << 18;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    /// The first attempt to connect is under way: commands wait for it.
    Connecting,
    Up,
    /// There is no connection: commands fail at once.
    Down(Cause),
    /// The task is gone with its runtime: nothing will ever be sent.
    Ended,
}

#[derive(Debug)]
struct State {
    link: Link,
    suspect: bool,
    abandoned: bool,
    queue: VecDeque<Job>,
    /// Claims that may have, or get, something on the node.
    claims: usize,
    /// The connection's task, if it sleeps.
    task: Option<Waker>,
}

impl State {
    /// Why the node can't be asked now.
    fn obstacle(&self) -> Option<Cause> {
        match &self.link {
            Link::Down(cause) => Some(cause.clone()),
            Link::Ended => Some(Cause::Refused),
            _ if self.suspect => Some(Cause::Suspect),
            _ if self.claims >= CLAIM_LIMIT || self.queue.len() >= QUEUE_LIMIT => Some(Cause::Busy),
            Link::Connecting | Link::Up => None,
        }
    }
}

/// One node as callers and the task that owns its connection see it.
#[derive(Debug)]
pub(super) struct Node {
    state: Mutex<State>,
    up: watch::Sender<bool>,
}

impl Node {
    pub(super) fn new() -> Self {
        let state = State {
            link: Link::Connecting,
            suspect: false,
            abandoned: false,
            queue: VecDeque::new(),
            claims: 0,
            task: None,
        };
        Self {
            state: Mutex::new(state),
            up: watch::Sender::new(false),
        }
    }

    /// Queues a command; never waits. What can't be sent now fails at once, but for deletes: those are owed.
    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        if !matches!(job, Job::Delete(_))
            && let Some(cause) = state.obstacle()
        {
            // Callers are told without the lock held.
            drop(state);
            job.fail(cause);
            return;
        }
        match &job {
            Job::Set { .. } => state.claims += 1,
            Job::Delete(_) if state.link == Link::Ended => {
                drop(state);
                job.fail(Cause::Refused);
                return;
            }
            // There is nobody to hear of it now, but the key is to go.
            Job::Delete(_) if state.suspect || matches!(state.link, Link::Down(_)) => {
                drop(state);
                if let Done::Owed(delete) = job.fail(Cause::Refused) {
                    self.owe([delete]);
                }
                return;
            }
            _ => {}
        }
        state.queue.push_back(job);
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Queues deletes that nobody waits for.
    pub(super) fn owe(&self, deletes: impl IntoIterator<Item = Delete>) {
        let mut state = self.lock();
        state.queue.extend(deletes.into_iter().map(Job::Delete));
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }

    /// A claim has nothing on the node any more, nor will it: there is room for another.
    pub(super) fn finished(&self, claims: usize) {
        if claims > 0 {
            let mut state = self.lock();
            state.claims = state.claims.saturating_sub(claims);
        }
    }

    /// Why a command that was never written was not: what to tell whoever withdraws it.
    pub(super) fn unasked(&self) -> Cause {
        match &self.lock().link {
            Link::Up => Cause::Suspect,
            Link::Down(cause) => cause.clone(),
            Link::Connecting | Link::Ended => Cause::Refused,
        }
    }

    /// Whether there is a connection; changes are seen by the receiver.
    pub(super) fn watch(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }

    /// Moves what is queued behind what is in `jobs`. If there is nothing, `task` is woken as soon as there is. Whether
    /// nobody will push any more.
    pub(super) fn take(&self, jobs: &mut VecDeque<Job>, task: &Waker) -> bool {
        let mut state = self.lock();
        if jobs.is_empty() {
            mem::swap(jobs, &mut state.queue);
        } else {
            jobs.append(&mut state.queue);
        }
        match &mut state.task {
            Some(waker) => waker.clone_from(task),
            None => state.task = Some(task.clone()),
        }
        state.abandoned
    }

    /// A node that owes replies for too long gets no new commands but deletes, until it replies. Commands that were not
    /// written, in the queue and in `jobs`, fail.
    pub(super) fn suspect(&self, jobs: &mut VecDeque<Job>) {
        let mut state = self.lock();
        state.suspect = true;
        jobs.append(&mut state.queue);
        drop(state);
        let mut withdrawn = 0;
        let (mut deletes, mut others) = (VecDeque::new(), Vec::new());
        for job in jobs.drain(..) {
            match job {
                Job::Delete(delete) => deletes.push_back(Job::Delete(delete.postpone())),
                job => {
                    withdrawn += usize::from(matches!(job, Job::Set { .. }));
                    others.push(job);
                }
            }
        }
        *jobs = deletes;
        for job in others {
            job.fail(Cause::Suspect);
        }
        self.finished(withdrawn);
    }

    /// The node replied.
    pub(super) fn trust(&self) {
        self.lock().suspect = false;
    }

    /// The connection stands.
    pub(super) fn connected(&self) {
        let mut state = self.lock();
        state.link = Link::Up;
        state.suspect = false;
        drop(state);
        self.up.send_replace(true);
    }

    /// There is no connection, because of `cause`. Whether the commands in `written` ran is not known; those in the
    /// queue, and in `unwritten`, never will. Deletes wait for the next connection, as long as their keys may stand.
    pub(super) fn disconnected(&self, written: VecDeque<Job>, unwritten: VecDeque<Job>, cause: &Cause) {
        let queue = self.leave(Link::Down(cause.clone()));
        let now = Instant::now();
        let (mut owed, mut finished) = (Vec::new(), 0);
        // Callers are told before the lock is taken.
        let written = written.into_iter().map(|job| job.fail(Cause::Disconnected));
        let queue = unwritten.into_iter().chain(queue).map(|job| job.fail(cause.clone()));
        for done in written.chain(queue) {
            match done {
                Done::Owed(delete) if delete.has_expired(now) => finished += 1,
                Done::Owed(delete) => owed.push(delete),
                Done::Finished => finished += 1,
                Done::Kept | Done::Again(_) => {}
            }
        }
        self.finished(finished);
        self.owe(owed);
    }

    /// Whether there are deletes left that are worth another connection.
    pub(super) fn is_owing(&self) -> bool {
        let now = Instant::now();
        let mut state = self.lock();
        let before = state.queue.len();
        let still = |job: &Job| matches!(job, Job::Delete(delete) if !delete.has_expired(now));
        state.queue.retain(still);
        state.claims = state.claims.saturating_sub(before - state.queue.len());
        !state.queue.is_empty()
    }

    /// Nobody will push any more: the task ends once nothing is owed.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
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
        let queue = mem::take(&mut state.queue);
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
    use std::sync::Arc;

    use super::{
        super::{Gauges, Nodes, Terms, claim::Claim, claim::Owned, reply::Reply, tally::Slot},
        *,
    };

    fn node() -> (Arc<Node>, Nodes) {
        let node = Arc::new(Node::new());
        node.connected();
        let nodes = Nodes::unconnected(&[Arc::clone(&node)]);
        (node, nodes)
    }

    fn ask(nodes: &Nodes) -> Owned {
        Claim::ask(nodes, "k", &Terms::default(), &Arc::<Gauges>::default(), None)
    }

    fn slot(claim: &Claim) -> Slot {
        claim.ballot().slots()[0].clone()
    }

    /// What is queued, as it would be written: withdrawn commands are not.
    fn written(node: &Node) -> VecDeque<Job> {
        let mut jobs = VecDeque::new();
        node.take(&mut jobs, Waker::noop());
        jobs.retain(|job| job.write(&mut Vec::new(), None, Instant::now()));
        jobs
    }

    fn answer(jobs: VecDeque<Job>, reply: &Reply) -> Vec<Done> {
        jobs.into_iter().map(|job| job.reply(reply.clone())).collect()
    }

    #[test]
    fn a_suspect_node_gets_only_deletes() {
        let (node, nodes) = node();
        let held = ask(&nodes);
        answer(written(&node), &Reply::Ok);
        let queued = ask(&nodes);
        node.suspect(&mut VecDeque::new());
        assert_eq!(slot(&queued), Slot::No(Cause::Suspect));
        let asked = ask(&nodes);
        assert_eq!(slot(&asked), Slot::No(Cause::Suspect));
        drop(held);
        let jobs = written(&node);
        assert!(matches!(jobs[0], Job::Delete(_)) && jobs.len() == 1);
        node.trust();
        assert_eq!(slot(&ask(&nodes)), Slot::Queued);
    }

    #[test]
    fn a_broken_connection_tells_written_from_unwritten_and_keeps_deletes() {
        let (node, nodes) = node();
        let sent = ask(&nodes);
        let jobs = written(&node);
        let queued = ask(&nodes);
        node.disconnected(jobs, VecDeque::new(), &Cause::Refused);
        assert_eq!(slot(&sent), Slot::No(Cause::Disconnected));
        assert_eq!(slot(&queued), Slot::No(Cause::Refused));
        assert_eq!(slot(&ask(&nodes)), Slot::No(Cause::Refused));
        drop((sent, queued));
        assert!(node.is_owing());
        node.connected();
        assert_eq!(written(&node).len(), 1);
    }

    #[test]
    fn a_withdrawn_command_is_not_written_and_leaves_nothing_to_delete() {
        let (node, nodes) = node();
        drop(ask(&nodes));
        assert!(written(&node).is_empty());
        assert!(written(&node).is_empty());
    }

    #[test]
    fn a_delete_is_owed_until_the_node_runs_it() {
        let (node, nodes) = node();
        let held = ask(&nodes);
        answer(written(&node), &Reply::Ok);
        drop(held);
        let mut jobs = written(&node);
        for _ in 0..2 {
            let Some(Done::Owed(delete)) = answer(jobs, &Reply::Error("LOADING".into())).pop() else {
                panic!("it is still owed");
            };
            jobs = [Job::Delete(delete)].into();
        }
        assert!(matches!(answer(jobs, &Reply::Int(1))[..], [Done::Finished]));
    }

    #[test]
    fn a_script_that_the_node_does_not_know_is_sent_whole() {
        let (node, nodes) = node();
        let held = ask(&nodes);
        answer(written(&node), &Reply::Ok);
        drop(held);
        let Some(Done::Again(job)) = answer(written(&node), &Reply::Error("NOSCRIPT No matching".into())).pop() else {
            panic!("it is sent again");
        };
        let mut out = Vec::new();
        assert!(job.write(&mut out, None, Instant::now()));
        assert!(String::from_utf8_lossy(&out).contains("redis.call"));
    }

    #[test]
    fn room_is_kept_for_the_delete_of_every_set_and_no_more_are_taken() {
        let (node, nodes) = node();
        node.lock().claims = CLAIM_LIMIT - 1;
        let last = ask(&nodes);
        assert_eq!(slot(&last), Slot::Queued);
        answer(written(&node), &Reply::Ok);
        assert_eq!(slot(&ask(&nodes)), Slot::No(Cause::Busy));
        drop(last);
        let deletes = written(&node);
        assert_eq!(deletes.len(), 1);
        assert!(matches!(answer(deletes, &Reply::Int(1))[..], [Done::Finished]));
        node.finished(1);
        assert_eq!(slot(&ask(&nodes)), Slot::Queued);
    }

    #[test]
    fn an_ended_node_keeps_nothing() {
        let (node, nodes) = node();
        let held = ask(&nodes);
        answer(written(&node), &Reply::Ok);
        let asked = ask(&nodes);
        node.end();
        assert_eq!(slot(&asked), Slot::No(Cause::Refused));
        drop(held);
        assert!(!node.is_owing());
    }
}
