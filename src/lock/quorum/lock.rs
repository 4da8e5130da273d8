//! One attempt at a lock on a quorum of nodes with its commands, its extension and its release.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::Duration,
};

use tokio::sync::Notify;

use super::extensions::{Extensions, remember};
use crate::{
    AcquireOptions, Cause, Gauges, Nodes, NotExtended, Outcome, Refusal,
    acquire::Missed,
    clock,
    held::{Held, Owned},
    node::{
        job::{Asker, Job, LockJob, Report},
        wire::{self, Wire},
    },
    protocol::{
        Attempt, Command, Decision, Due, Effect, Lease, NodeSet, PerNode, Released, Renewal, Time, Vote, Waiting,
        quorum,
    },
    waiting::subscriptions::Subscriptions,
};

/// One attempt, and what it asked of every node. The caller owns it; its commands and their connections share it.
pub(crate) struct QuorumLock {
    nodes: Nodes,
    wire: Wire,
    /// Where those who wait for the key are told of the release; none: they are not told.
    subscriptions: Option<Arc<Subscriptions>>,
    gauges: Arc<Gauges>,
    state: Mutex<State>,
    /// The lock is lost, or its validity ends, earlier than was known.
    sooner: Notify,
}

struct State {
    attempt: Attempt,
    /// Why nodes gave no vote, where that is not simply that somebody else has the lock.
    causes: PerNode<Option<Cause>>,
    /// Who waits for the votes, or for the release.
    waiter: Option<Waker>,
    /// Those that callers wait for.
    extensions: Extensions,
}

impl fmt::Debug for QuorumLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumLock")
            .field("key", &self.wire.key())
            .finish_non_exhaustive()
    }
}

impl QuorumLock {
    /// Asks all nodes at once, under a new token, and does not wait. `asked`: now.
    pub(crate) fn ask(
        nodes: &Nodes,
        key: &str,
        options: &AcquireOptions,
        subscriptions: Option<Arc<Subscriptions>>,
        gauges: &Arc<Gauges>,
        asked: Time,
    ) -> Owned<Self> {
        let state = State {
            attempt: Attempt::new(nodes.len(), options.rules(nodes.node_timeout()), asked),
            causes: PerNode::new(nodes.len()),
            waiter: None,
            extensions: Extensions::default(),
        };
        let lock = Arc::new(Self {
            nodes: nodes.clone(),
            wire: Wire::new(key, &wire::token(), options.ttl),
            subscriptions,
            gauges: Arc::clone(gauges),
            state: Mutex::new(state),
            sooner: Notify::new(),
        });
        lock.send(NodeSet::first(nodes.len()), Command::Set, asked, false);
        Owned(lock)
    }

    fn send(self: &Arc<Self>, nodes: NodeSet, command: Command, asked: Time, announce: bool) {
        for node in nodes {
            let job = LockJob {
                command,
                asker: Arc::clone(self) as Arc<dyn Asker>,
                node,
                asked,
                announce,
                spelled_out: false,
            };
            self.nodes.push(node, Job::Lock(job));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a step of the protocol, and tells whom it concerns.
    fn step(&self, step: impl FnOnce(&mut State) -> Effect) -> Effect {
        let mut state = self.state();
        let was_partial = state.attempt.is_partial();
        let effect = step(&mut state);
        self.gauges.change_partial(was_partial, state.attempt.is_partial());
        let waiter = if effect.decided { state.waiter.take() } else { None };
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        if effect.lost || effect.sooner {
            self.sooner.notify_waiters();
        }
        effect
    }

    /// Waits from `now` until no further vote can change the outcome, the nodes have had their time to reply, or until `limit`.
    /// None if the lock is held from then on.
    pub(crate) async fn decided(&self, mut now: Time, limit: Time) -> Option<Missed> {
        loop {
            let waiting = self.state().attempt.waiting(limit, now);
            let until = match waiting {
                Waiting::Over => return self.decide(false),
                Waiting::CutShort => return self.decide(true),
                Waiting::Until(until) => until,
            };
            let decided = self.wait_for(|state| state.attempt.is_decided().then_some(()));
            if clock::timeout_at(until, decided).await.is_ok() {
                return self.decide(false);
            }
            now = clock::now();
        }
    }

    /// Waits for what the protocol says that it is there.
    async fn wait_for<T>(&self, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        poll_fn(|cx| {
            let mut state = self.state();
            if let Some(value) = ready(&state) {
                return Poll::Ready(value);
            }
            remember(&mut state.waiter, cx.waker());
            Poll::Pending
        })
        .await
    }

    /// What came of the attempt: none if the lock is held from here on.
    fn decide(&self, cut_short: bool) -> Option<Missed> {
        let mut state = self.state();
        // Read after the votes: the lock can be relied on from here on, if at all.
        let now = clock::now();
        let decision = state.attempt.decide(now);
        if decision == Decision::Granted {
            self.gauges.hold();
            self.gauges.change_partial(false, state.attempt.is_partial());
            return None;
        }
        let (votes, elapsed) = (state.attempt.votes(), now - state.attempt.start());
        let nodes = 0..self.nodes.len();
        let held = nodes.filter(|&node| state.attempt.vote(node) == Vote::Held).collect();
        let causes = self.causes(&state);
        drop(state);
        let refusal = match decision {
            Decision::Expired => Refusal::Expired { votes, elapsed },
            Decision::Contended => Refusal::Contended,
            Decision::Unknown => Refusal::Unknown { causes },
            Decision::NoQuorum | Decision::Granted => Refusal::no_quorum(quorum(self.nodes.len()), causes),
        };
        if matches!(refusal.outcome(), Outcome::NoQuorum | Outcome::Unknown) {
            self.gauges.fail();
        }
        Some(Missed {
            decision,
            refusal,
            votes,
            held,
            cut_short,
            elapsed,
        })
    }

    /// Why each node gave no vote; none where it did.
    fn causes(&self, state: &State) -> Vec<Option<Cause>> {
        let cause = |node: usize| match state.attempt.vote(node) {
            Vote::Granted => None,
            Vote::Held | Vote::Gone => Some(Cause::Held),
            Vote::Written => Some(Cause::Timeout),
            Vote::Queued => Some(self.nodes.not_written(node)),
            // They came with one.
            Vote::Never | Vote::Unknown => state.causes[node].clone().or(Some(Cause::Timeout)),
        };
        (0..self.nodes.len()).map(cause).collect()
    }

    // What the holder asks for.

    /// Extends the lock by its TTL, counted from now, on the nodes that still hold it.
    pub(crate) async fn extend(self: &Arc<Self>) -> Result<Duration, NotExtended> {
        let now = clock::now();
        let until = self.valid_until(now).ok_or(NotExtended::Lost)?;
        let (nodes, asked, reply_timeout) = {
            let mut state = self.state();
            let nodes = state.attempt.extend();
            let mut causes = PerNode::new(self.nodes.len());
            for node in (0..self.nodes.len()).filter(|&node| !nodes.contains(node)) {
                causes[node] = match state.attempt.vote(node) {
                    Vote::Never => state.causes[node].clone(),
                    _ => Some(Cause::Held),
                };
            }
            let asked = state.extensions.begin(nodes, causes, now);
            (nodes, asked, state.attempt.rules().reply_timeout)
        };
        let extending = Extending(self, asked);
        self.send(nodes, Command::Extend, asked, false);
        // Late or not, what has arrived counts: the clock is read after the answers.
        let _ = clock::timeout_at(until.min(asked + reply_timeout), extending.decided()).await;
        let now = clock::now();
        let until = self.valid_until(now).ok_or(NotExtended::Lost)?;
        let missed = self.state().extensions.missed(asked);
        match missed {
            Some(causes) => Err(NotExtended::NoQuorum { causes }),
            None => Ok(until - now),
        }
    }

    /// The end of its validity, if that is still to come.
    fn valid_until(&self, now: Time) -> Option<Time> {
        self.lease().valid_until().filter(|until| *until > now)
    }

    /// Releases the lock at `now`: tells those who wait for it, and does not wait.
    pub(crate) fn release(self: &Arc<Self>, now: Time) {
        let (nodes, announce) = {
            let mut state = self.state();
            let (was_held, was_partial) = (state.attempt.is_held(), state.attempt.is_partial());
            let nodes = state.attempt.close(now);
            state.waiter = None;
            if was_held && !state.attempt.is_held() {
                self.gauges.unhold();
                self.gauges.change_partial(was_partial, false);
            }
            (nodes, was_held && self.subscriptions.is_some())
        };
        self.send(nodes, Command::Delete, now, announce);
    }

    /// Resolves when a quorum confirmed the release of `now`, all answered, or the nodes have had their time.
    pub(crate) async fn released(&self, now: Time) -> Released {
        let until = now + self.state().attempt.rules().reply_timeout;
        let released = self.wait_for(|state| state.attempt.released());
        match clock::timeout_at(until, released).await {
            Ok(released) => released,
            Err(_) => self.state().attempt.released_so_far(),
        }
    }

    // What is known of it.

    /// The number of nodes asked.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of votes now.
    pub(crate) fn votes(&self) -> usize {
        self.state().attempt.votes()
    }

    /// The value of the keys.
    pub(crate) fn token(&self) -> &str {
        self.wire.token()
    }

    /// The votes that ever came, if no more can come.
    pub(crate) fn all_votes(&self) -> Option<usize> {
        let state = self.state();
        state.attempt.is_answered().then(|| state.attempt.ever_granted())
    }

    /// The votes that have ever come, and until when the nodes have their time.
    pub(crate) fn votes_so_far(&self) -> (usize, Time) {
        let attempt = &self.state().attempt;
        (attempt.ever_granted(), attempt.start() + attempt.rules().reply_timeout)
    }
}

impl Held for QuorumLock {
    fn lease(&self) -> Lease {
        *self.state().attempt.lease()
    }

    fn on_loss_timeout(&self, now: Time) -> Option<Time> {
        self.state().attempt.lease_mut().on_timeout(now)
    }

    fn sooner(&self) -> &Notify {
        &self.sooner
    }

    fn renewal(&self, interval: Duration) -> Renewal {
        let attempt = &self.state().attempt;
        Renewal::new(interval, attempt.rules().reply_timeout, attempt.start())
    }

    fn renew(self: Arc<Self>, due: Due) {
        let (missing, nodes) = {
            let attempt = &mut self.state().attempt;
            let missing = if due.repair { attempt.repair() } else { NodeSet::EMPTY };
            (missing, if due.extend { attempt.extend() } else { NodeSet::EMPTY })
        };
        let asked = clock::now();
        self.send(missing, Command::Set, asked, false);
        self.send(nodes, Command::Extend, asked, false);
    }

    fn take_back(self: Arc<Self>) {
        if !self.state().attempt.is_closed() {
            self.release(clock::now());
        }
    }
}

impl Asker for QuorumLock {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn on_written(&self, node: usize, command: Command, now: Time) -> bool {
        let written = command != Command::Set || self.state().attempt.on_written(node, now);
        if written {
            self.gauges.send(node, command);
        }
        written
    }

    fn on_answer(&self, node: usize, report: Report, now: Time) -> bool {
        let Report {
            command,
            asked,
            answer,
            cause,
        } = report;
        let mut waiter = None;
        let effect = self.step(|state| match command {
            Command::Set => {
                state.causes[node] = cause;
                state.attempt.on_vote(node, asked, answer, now)
            }
            Command::Extend => {
                waiter = state.extensions.on_answer(asked, node, answer, cause);
                state.attempt.on_extended(node, asked, answer, now)
            }
            Command::Delete => state.attempt.on_deleted(node, answer, now),
        });
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        effect.finished
    }

    fn on_told(&self, node: usize) {
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.on_told(node, self.wire.key());
        }
    }
}

/// An extension that a caller waits for; it is forgotten when this is dropped.
struct Extending<'a>(&'a QuorumLock, Time);

impl Extending<'_> {
    async fn decided(&self) {
        poll_fn(|cx| self.0.state().extensions.poll_decided(self.1, cx.waker())).await;
    }
}

impl Drop for Extending<'_> {
    fn drop(&mut self) {
        self.0.state().extensions.end(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{held, protocol::Answer};

    fn answer(lock: &QuorumLock, node: usize, command: Command, asked: Time, answer: Answer) {
        let report = Report {
            command,
            asked,
            answer,
            cause: None,
        };
        lock.on_answer(node, report, clock::now());
    }

    #[tokio::test(start_paused = true)]
    async fn the_loss_is_signalled_in_time_also_when_the_validity_ends_sooner_than_was_known() {
        let options = AcquireOptions::default();
        let start = clock::now();
        let lock = QuorumLock::ask(&Nodes::unconnected(3), "k", &options, None, &Arc::default(), start);
        for node in 0..3 {
            lock.on_written(node, Command::Set, start);
            answer(&lock, node, Command::Set, start, Answer::Yes);
        }
        assert!(lock.decided(start, Time::MAX).await.is_none());
        let loses_a_key = async {
            let extended = start + options.ttl / 2;
            clock::sleep_until(extended).await;
            answer(&lock, 0, Command::Extend, extended, Answer::Yes);
            answer(&lock, 1, Command::Extend, extended, Answer::Yes);
            assert!(lock.valid_until(start + options.ttl).is_some());
            // Now the third key counts, which was not extended.
            answer(&lock, 0, Command::Extend, extended, Answer::No);
        };
        tokio::join!(held::lost(&**lock), loses_a_key);
        assert!(clock::now() < start + options.ttl, "{:?}", clock::now() - start);
        assert_eq!(lock.lease().valid_until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_gauges_tell_what_is_held_and_what_lacks_votes() {
        let gauges = Arc::<Gauges>::default();
        let start = clock::now();
        let lock = QuorumLock::ask(
            &Nodes::unconnected(3),
            "k",
            &AcquireOptions::default(),
            None,
            &gauges,
            start,
        );
        let told = || (gauges.holding(), gauges.partial());
        for node in 0..2 {
            lock.on_written(node, Command::Set, start);
            answer(&lock, node, Command::Set, start, Answer::Yes);
        }
        assert_eq!(told(), (0, 0), "the votes are there, and nobody has looked");
        assert!(lock.decided(start, Time::MAX).await.is_none());
        assert_eq!(told(), (1, 1));
        lock.on_written(2, Command::Set, start);
        answer(&lock, 2, Command::Set, start, Answer::Yes);
        assert_eq!(told(), (1, 0), "a late vote completes it");
        answer(&lock, 2, Command::Extend, start, Answer::No);
        assert_eq!(told(), (1, 1), "a key is gone");
        drop(lock);
        assert_eq!(told(), (0, 0));
    }
}
