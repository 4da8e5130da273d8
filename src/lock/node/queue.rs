//! The shared state of one node: the queue that callers push to, and whether the node can be asked.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::watch;

use super::job::{Done, Job, LockJob};
use super::redirector::Redirector;
use super::state::LinkState;
use crate::cause::Cause;
use crate::clock;
use crate::protocol::{Link, Mailbox, Obstacle, Pipeline, Time};
use crate::trace::event;

#[derive(Debug)]
struct QueueState {
    mailbox: Mailbox<Job>,
    /// Why there is no connection.
    down: Cause,
    /// What was wrong last, and when.
    trouble: Option<(Cause, Time)>,
    /// The node that has the vote of the same server.
    same_server_as: Option<usize>,
    abandoned: bool,
    /// Whether nothing more may be acquired.
    shut: bool,
    /// Whether the node is not the one any more that can run what is owed.
    retired: bool,
    /// The connection's task, if it sleeps.
    task: Option<Waker>,
}

impl QueueState {
    /// Queues a command, or returns it and why not.
    fn push(&mut self, job: Job) -> Option<(Job, Cause)> {
        if self.shut && job.is_vote() {
            return Some((job, Cause::Ended));
        }
        match self.same_server_as {
            // A lock that has this node's vote from before keeps it.
            Some(of) if job.is_vote() => Some((job, Cause::Duplicate { of })),
            _ => {
                let pushed = self.mailbox.push(job);
                pushed.map(|(job, obstacle)| (job, self.cause(obstacle)))
            }
        }
    }

    fn cause(&self, obstacle: Obstacle) -> Cause {
        match obstacle {
            Obstacle::Down => self.down.clone(),
            Obstacle::Ended => Cause::Ended,
            Obstacle::Suspect => Cause::Suspect,
            Obstacle::Busy => Cause::Busy,
            Obstacle::Overloaded => Cause::Overloaded,
            Obstacle::TooMany => Cause::TooMany,
        }
    }
}

/// A callback that gets the time of each command from its writing to its reply.
pub(crate) type RoundTripHook = Arc<dyn Fn(Duration) + Send + Sync>;

/// One node as callers and the task that owns its connection see it.
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    up: watch::Sender<bool>,
    /// How long the node may owe a reply before it is suspect.
    node_timeout: Duration,
    round_trip: OnceLock<RoundTripHook>,
    /// The cluster that the node belongs to.
    redirector: Option<Box<dyn Redirector>>,
}

impl Queue {
    /// The queue of a node that knows no others.
    pub(crate) fn new(node_timeout: Duration) -> Self {
        Self::with(node_timeout, Link::default(), None)
    }

    /// The queue of a node of a cluster. An attempt may be finished on another node than it began on, so none are counted.
    pub(crate) fn of_cluster(node_timeout: Duration, redirector: Box<dyn Redirector>) -> Self {
        Self::with(node_timeout, Link::uncounted(), Some(redirector))
    }

    fn with(node_timeout: Duration, link: Link, redirector: Option<Box<dyn Redirector>>) -> Self {
        let state = QueueState {
            mailbox: Mailbox::new(link),
            down: Cause::Refused,
            trouble: None,
            same_server_as: None,
            abandoned: false,
            shut: false,
            retired: false,
            task: None,
        };
        Self {
            state: Mutex::new(state),
            up: watch::Sender::new(false),
            node_timeout,
            round_trip: OnceLock::new(),
            redirector,
        }
    }

    /// How long the node may owe a reply before it is suspect.
    pub(crate) const fn node_timeout(&self) -> Duration {
        self.node_timeout
    }

    /// Calls `hook` for each round trip from now on. Returns false if there is a hook already.
    pub(crate) fn sample_round_trips(&self, hook: RoundTripHook) -> bool {
        self.round_trip.set(hook).is_ok()
    }

    /// The hook for round trips, if any.
    pub(crate) fn round_trip_hook(&self) -> Option<&RoundTripHook> {
        self.round_trip.get()
    }

    /// The cluster that the node belongs to, if it does.
    pub(crate) fn redirector(&self) -> Option<&dyn Redirector> {
        self.redirector.as_deref()
    }

    /// Queues a command; never waits. A command that can't be sent now fails at once, except for deletes, which are owed.
    pub(crate) fn push(&self, job: Job) {
        let mut state = self.lock();
        match state.push(job) {
            None => Self::wake(state),
            Some((job, cause)) => {
                // Callers are called back after the mutex is unlocked.
                drop(state);
                if let Done::Owed(delete) = job.fail(cause, clock::now()) {
                    self.owe(vec![delete]);
                }
            }
        }
    }

    /// Queues deletes whose askers no longer wait for them.
    fn owe(&self, deletes: Vec<LockJob>) {
        let mut state = self.lock();
        if state.retired
            && let Some(redirector) = &self.redirector
        {
            drop(state);
            redirector.owe(deletes);
        } else {
            state.mailbox.owe(deletes.into_iter().map(Job::Lock));
            Self::wake(state);
        }
    }

    /// Tells the askers that there will be no reply. Returns the deletes that are still owed.
    fn fail(&self, jobs: impl IntoIterator<Item = Job>, cause: &Cause) -> Vec<LockJob> {
        let (mut owed, mut finished, now) = (Vec::new(), 0, clock::now());
        for job in jobs {
            match job.fail(cause.clone(), now) {
                Done::Owed(delete) => owed.push(delete),
                Done::Finished => finished += 1,
                Done::Kept | Done::Again(_) => {}
            }
        }
        self.finished(finished);
        owed
    }

    /// So many attempts are finished on the node, which makes room for others.
    pub(crate) fn finished(&self, attempts: usize) {
        if attempts > 0 {
            self.lock().mailbox.link_mut().on_finished(attempts);
        }
    }

    /// Why a command has not been written, for the caller that withdraws it.
    pub(crate) fn not_written(&self) -> Cause {
        let state = self.lock();
        state.cause(state.mailbox.link().not_written())
    }

    /// Whether there is a connection; changes are seen by the receiver.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }

    /// Appends queued jobs to `jobs`, as many as there is room for on this connection, and wakes `task` when more are queued.
    /// Returns whether nobody will push any more, and nothing is left in the queue.
    pub(crate) fn take(&self, jobs: &mut VecDeque<Job>, on: &Pipeline<Job>, task: &Waker) -> bool {
        let mut state = self.lock();
        state.mailbox.hand_over(jobs, on);
        match &mut state.task {
            Some(waker) => waker.clone_from(task),
            None => state.task = Some(task.clone()),
        }
        state.abandoned && state.mailbox.is_empty()
    }

    /// Takes all queued jobs.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = Job> + use<> {
        self.lock().mailbox.empty()
    }

    /// The node owes replies for too long: it gets no new commands but deletes until it replies. Unwritten commands, in the
    /// queue and in `jobs`, fail.
    pub(crate) fn suspect(&self, jobs: &mut VecDeque<Job>) {
        event!(
            warn,
            "the node owes replies for too long: it is asked nothing new until it replies"
        );
        let queued = {
            let mut state = self.lock();
            state.trouble = Some((Cause::Suspect, clock::now()));
            state.mailbox.on_suspect()
        };
        let owed = self.fail(mem::take(jobs).into_iter().chain(queued), &Cause::Suspect);
        jobs.extend(owed.into_iter().map(Job::Lock));
        self.on_trouble();
    }

    /// The node replied.
    pub(crate) fn trust(&self) {
        event!(info, "the node replies again");
        self.lock().mailbox.link_mut().on_trusted();
    }

    /// The node is the same server as another one, which has the vote of that server, or as none.
    pub(crate) fn on_same_server_as(&self, other: Option<usize>) {
        let mut state = self.lock();
        if let Some(of) = other
            && state.same_server_as != other
        {
            event!(warn, "the node has no vote: it is the same server as node {}", of + 1);
            state.trouble = Some((Cause::Duplicate { of }, clock::now()));
        }
        state.same_server_as = other;
    }

    /// The other node that has the vote of the same server.
    pub(crate) fn same_server_as(&self) -> Option<usize> {
        self.lock().same_server_as
    }

    /// The connection is established.
    pub(crate) fn connected(&self) {
        let mut state = self.lock();
        state.mailbox.link_mut().on_connected();
        event!(info, "connected");
        let refused = state.same_server_as.map(|of| (of, state.mailbox.take_votes()));
        drop(state);
        if let Some((of, votes)) = refused {
            self.fail(votes, &Cause::Duplicate { of });
        }
        self.up.send_replace(true);
    }

    /// There is no connection, because of `cause`. The commands in `written` may or may not have run. Those in the queue and
    /// in `unwritten` never will, unless we are `reconnecting`: then they wait. Deletes wait for the next connection, as long as
    /// their keys may exist.
    pub(crate) fn disconnected(
        &self,
        written: VecDeque<Job>,
        unwritten: VecDeque<Job>,
        cause: &Cause,
        reconnecting: bool,
    ) {
        let mut state = self.lock();
        let queue = state.mailbox.on_disconnected(reconnecting);
        state.down = cause.clone();
        let trouble = match *self.up.borrow() {
            true => Cause::Disconnected,
            false => cause.clone(),
        };
        // A node that stays down is not told at each attempt.
        if state.trouble.as_ref().is_none_or(|(before, _)| *before != trouble) {
            event!(warn, cause = %trouble, "there is no connection");
        }
        state.trouble = Some((trouble, clock::now()));
        // Callers are called back after the mutex is unlocked.
        drop(state);
        self.up.send_replace(false);
        let mut owed = self.fail(written, &Cause::Disconnected);
        if reconnecting {
            self.lock().mailbox.put_back(unwritten);
        } else {
            owed.extend(self.fail(unwritten.into_iter().chain(queue), cause));
        }
        self.owe(owed);
        self.on_trouble();
    }

    fn on_trouble(&self) {
        if let Some(redirector) = &self.redirector {
            redirector.on_trouble();
        }
    }

    /// Whether the node is connected, and owes no reply for too long.
    pub(crate) fn is_well(&self) -> bool {
        self.lock().mailbox.link().is_well()
    }

    /// Whether it can be asked, what was wrong last, and when.
    pub(crate) fn state(&self) -> (LinkState, Option<(Cause, Time)>) {
        let state = self.lock();
        let link = match (state.mailbox.link().is_well(), *self.up.borrow()) {
            (true, _) => LinkState::Connected,
            (false, true) => LinkState::Suspect,
            (false, false) => LinkState::Down,
        };
        (link, state.trouble.clone())
    }

    /// Since when the node has owed replies for too long, if it does.
    pub(crate) fn suspect_since(&self) -> Option<Time> {
        match self.state() {
            (LinkState::Suspect, Some((Cause::Suspect, since))) => Some(since),
            _ => None,
        }
    }

    /// Whether deletes are left for which another connection is needed.
    pub(crate) fn is_owing(&self) -> bool {
        let owed = self.fail(self.take_all(), &Cause::Refused);
        let is_owing = !owed.is_empty();
        self.owe(owed);
        is_owing
    }

    /// Nothing more is acquired from now on; what is held can still be extended and released.
    pub(crate) fn shut(&self) {
        self.lock().shut = true;
    }

    /// Nobody will push any more: the task ends once nothing is owed.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        Self::wake(state);
    }

    /// The node is not the one any more that can run what is owed: the task ends, and other nodes of the cluster get the
    /// deletes.
    pub(crate) fn retire(&self) {
        let mut state = self.lock();
        (state.abandoned, state.retired) = (true, true);
        let queue = state.mailbox.empty();
        let cause = state.cause(Obstacle::Down);
        Self::wake(state);
        let owed = self.fail(queue, &cause);
        self.owe(owed);
    }

    /// Whether nobody uses the node any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Nothing will be sent any more.
    pub(crate) fn end(&self) {
        let queue = self.lock().mailbox.on_ended();
        self.up.send_replace(false);
        for job in queue {
            job.fail(Cause::Ended, clock::now());
        }
    }

    fn wake(mut state: MutexGuard<'_, QueueState>) {
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock;
    use crate::node::job::{Asker, Report};
    use crate::node::reply::Reply;
    use crate::node::route::Route;
    use crate::node::wire::{self, Wire};
    use crate::protocol::{Attempt, Command, Letter as _, Rules, Vote};

    /// An attempt at a lock of one node.
    #[derive(Debug)]
    struct Asking {
        wire: Wire,
        attempt: Mutex<Attempt>,
        cause: Mutex<Option<Cause>>,
    }

    impl Asker for Asking {
        fn wire(&self) -> &Wire {
            &self.wire
        }

        fn began(&self) -> Time {
            self.attempt.lock().unwrap().start()
        }

        fn on_written(&self, node: usize, command: Command, now: Time) -> bool {
            command != Command::Set || self.attempt.lock().unwrap().on_written(node, now)
        }

        fn on_answer(&self, node: usize, report: Report, now: Time) -> bool {
            let Report {
                command,
                asked,
                ttl: _,
                answer,
                cause,
                server: _,
            } = report;
            *self.cause.lock().unwrap() = cause;
            let mut attempt = self.attempt.lock().unwrap();
            match command {
                Command::Set => attempt.on_vote(node, asked, answer, now),
                Command::Extend => attempt.on_extended(node, asked, answer, now),
                Command::Delete => attempt.on_deleted(node, answer, now),
            }
            .finished
        }

        fn on_release_delivered(&self, _: usize, _: usize) {}

        fn on_given_up(&self) {}
    }

    impl Asking {
        fn vote(&self) -> (Vote, Option<Cause>) {
            (self.attempt.lock().unwrap().vote(0), self.cause.lock().unwrap().clone())
        }
    }

    const NEVER: fn(Cause) -> (Vote, Option<Cause>) = |cause| (Vote::Never, Some(cause));

    fn queue() -> Queue {
        let queue = Queue::new(Duration::from_millis(40));
        queue.connected();
        queue
    }

    fn job(asking: &Arc<Asking>, command: Command) -> Job {
        Job::Lock(LockJob {
            command,
            asker: Arc::clone(asking) as Arc<dyn Asker>,
            node: 0,
            asked: clock::now(),
            ttl: None,
            announce: false,
            spelled_out: false,
            route: Route::default(),
            deaths: 0,
            limit: Time::MAX,
        })
    }

    fn ask(queue: &Queue) -> Arc<Asking> {
        let rules = Rules {
            ttl: Duration::from_secs(10),
            reply_timeout: Duration::from_millis(40),
            lifetime: None,
            repair: false,
        };
        let asking = Arc::new(Asking {
            wire: Wire::new(b"k", &wire::token(), rules.ttl),
            attempt: Mutex::new(Attempt::new(1, rules, clock::now())),
            cause: Mutex::default(),
        });
        queue.push(job(&asking, Command::Set));
        asking
    }

    fn take_back(queue: &Queue, asking: &Arc<Asking>) {
        let nodes = asking.attempt.lock().unwrap().close(clock::now());
        nodes.into_iter().for_each(|_| queue.push(job(asking, Command::Delete)));
    }

    /// The queued commands that would be written, so without those that were withdrawn.
    fn written(queue: &Queue) -> VecDeque<Job> {
        let mut jobs: VecDeque<_> = queue.take_all().collect();
        jobs.retain(|job| job.write(&mut Vec::new(), None, clock::now()));
        jobs
    }

    fn answer(jobs: VecDeque<Job>, reply: &Reply) -> Vec<Done> {
        jobs.into_iter()
            .map(|job| job.reply(reply.clone(), None, clock::now()))
            .collect()
    }

    fn is_delete(job: &Job) -> bool {
        job.command() == Some(Command::Delete)
    }

    #[test]
    fn a_suspect_node_gets_only_deletes() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        let queued = ask(&queue);
        queue.suspect(&mut VecDeque::new());
        assert_eq!(queued.vote(), NEVER(Cause::Suspect));
        assert_eq!(ask(&queue).vote(), NEVER(Cause::Suspect));
        take_back(&queue, &held);
        let jobs = written(&queue);
        assert!(is_delete(&jobs[0]) && jobs.len() == 1);
        queue.trust();
        assert_eq!(ask(&queue).vote(), (Vote::Queued, None));
    }

    #[test]
    fn a_node_that_is_the_same_server_as_another_gets_no_new_votes() {
        let queue = Queue::new(Duration::from_millis(40));
        let (early, asked) = (ask(&queue), ask(&queue));
        take_back(&queue, &early);
        queue.on_same_server_as(Some(2));
        queue.connected();
        assert_eq!(asked.vote(), NEVER(Cause::Duplicate { of: 2 }));
        assert!(written(&queue).is_empty());
        assert_eq!(ask(&queue).vote(), NEVER(Cause::Duplicate { of: 2 }));
        queue.on_same_server_as(None);
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        queue.on_same_server_as(Some(2));
        queue.push(job(&held, Command::Extend));
        take_back(&queue, &held);
        assert_eq!(written(&queue).len(), 2, "what it has is kept and deleted");
    }

    #[test]
    fn a_broken_connection_separates_written_from_unwritten_and_keeps_deletes() {
        let queue = queue();
        let sent = ask(&queue);
        let jobs = written(&queue);
        let queued = ask(&queue);
        queue.disconnected(jobs, VecDeque::new(), &Cause::Refused, false);
        assert_eq!(sent.vote(), (Vote::Unknown, Some(Cause::Disconnected)));
        assert_eq!(queued.vote(), NEVER(Cause::Refused));
        assert_eq!(ask(&queue).vote(), NEVER(Cause::Refused));
        assert!(!queue.is_owing());
        take_back(&queue, &sent);
        take_back(&queue, &queued);
        assert!(queue.is_owing());
        queue.connected();
        assert_eq!(written(&queue).len(), 1);
    }

    #[test]
    fn a_withdrawn_command_is_not_written_and_leaves_nothing_to_delete() {
        let queue = queue();
        take_back(&queue, &ask(&queue));
        assert!(written(&queue).is_empty());
        assert!(written(&queue).is_empty());
    }

    #[test]
    fn a_delete_is_owed_until_the_node_runs_it() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        take_back(&queue, &held);
        let mut jobs = written(&queue);
        for _ in 0..2 {
            let Some(Done::Owed(delete)) = answer(jobs, &Reply::Error("LOADING".into())).pop() else {
                panic!("it is still owed");
            };
            jobs = [Job::Lock(delete)].into();
        }
        assert!(matches!(answer(jobs, &Reply::Int(1))[..], [Done::Finished]));
    }

    #[test]
    fn an_error_that_says_nothing_of_the_command_leaves_the_vote_unknown_and_a_delete_follows() {
        let queue = queue();
        for (error, expected, deletes) in [
            ("ERR upstream failure", Vote::Unknown, 1),
            ("OOM command not allowed", Vote::Never, 0),
            ("MOVED 3999 10.0.0.2:6379", Vote::Never, 0),
        ] {
            let asking = ask(&queue);
            answer(written(&queue), &Reply::Error(error.into()));
            assert_eq!(
                asking.vote(),
                (expected, Some(Cause::of_error(error.into()))),
                "{error}"
            );
            take_back(&queue, &asking);
            assert_eq!(written(&queue).len(), deletes, "{error}");
        }
        let asking = ask(&queue);
        answer(written(&queue), &Reply::Int(7));
        assert_eq!(asking.vote().0, Vote::Unknown);
    }

    #[test]
    fn a_script_that_the_node_does_not_know_is_sent_whole() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        take_back(&queue, &held);
        let Some(Done::Again(job)) = answer(written(&queue), &Reply::Error("NOSCRIPT No matching".into())).pop() else {
            panic!("it is sent again");
        };
        let mut out = Vec::new();
        assert!(Job::Lock(job).write(&mut out, None, clock::now()));
        assert!(String::from_utf8_lossy(&out).contains("redis.call"));
    }

    #[test]
    fn room_is_freed_by_what_was_refused_withdrawn_and_deleted() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        queue.suspect(&mut VecDeque::from([job(&ask(&queue), Command::Set)]));
        queue.trust();
        take_back(&queue, &held);
        let done = answer(written(&queue), &Reply::Int(1));
        assert!(matches!(done[..], [Done::Finished]));
        queue.finished(done.len());
        let refused = ask(&queue);
        let done = answer(written(&queue), &Reply::Nil);
        assert!(matches!(done[..], [Done::Finished]) && refused.vote().0 == Vote::Held);
        queue.finished(done.len());
        assert_eq!(queue.lock().mailbox.link().attempts(), 0);
    }

    #[test]
    fn a_node_that_is_shut_gets_no_new_votes_and_still_what_it_is_owed() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        queue.shut();
        assert_eq!(ask(&queue).vote(), NEVER(Cause::Ended));
        queue.push(job(&held, Command::Extend));
        take_back(&queue, &held);
        assert_eq!(written(&queue).len(), 2);
    }

    #[test]
    fn an_ended_node_keeps_nothing() {
        let queue = queue();
        let held = ask(&queue);
        answer(written(&queue), &Reply::Ok);
        let asked = ask(&queue);
        queue.end();
        assert_eq!(asked.vote(), NEVER(Cause::Ended));
        assert_eq!(ask(&queue).vote(), NEVER(Cause::Ended));
        take_back(&queue, &held);
        assert!(!queue.is_owing());
    }
}
