//! One attempt at a lock on a quorum of nodes, with its commands, its extensions and its release.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;

use super::extensions::{Extensions, remember};
use crate::cause::Cause;
use crate::clock;
use crate::gauges::Gauges;
use crate::node::job::{Asker, Job, LockJob, Report};
use crate::node::route::Route;
use crate::node::wire::{self, Wire};
use crate::nodes::Nodes;
use crate::options::AcquireOptions;
use crate::protocol::{
    Answer, Attempt, Command, Decision, Due, Effect, Failed, Lease, NodeSet, PerNode, Released, Renewal, Time, Vote,
    Waiting, quorum,
};
use crate::refusal::{NotExtended, Refusal};
use crate::waiting::subscriptions::Subscriptions;

/// One attempt and the state of its commands. The caller owns it; its queued commands share it.
pub(crate) struct QuorumLock {
    nodes: Nodes,
    wire: Wire,
    /// Present if the release is announced to those who wait for the key.
    subscriptions: Option<Arc<Subscriptions>>,
    gauges: Arc<Gauges>,
    state: Mutex<AcquireState>,
    /// Notified when the lock is lost, or its validity ends, earlier than was known.
    sooner: Notify,
}

struct AcquireState {
    attempt: Attempt,
    /// Why nodes gave no vote, unless somebody else simply has the lock.
    causes: PerNode<Option<Cause>>,
    /// The servers that voted: a node may be another one later.
    voters: PerNode<Option<SocketAddr>>,
    /// The task that waits for the votes, or for the release.
    waiter: Option<Waker>,
    /// The extensions whose callers wait for the result.
    extensions: Extensions,
}

/// A command for some nodes; see [`LockJob`].
#[derive(Clone, Copy)]
struct Order {
    command: Command,
    asked: Time,
    ttl: Option<Duration>,
    announce: bool,
    limit: Time,
}

impl Order {
    const fn new(command: Command, asked: Time) -> Self {
        Self {
            command,
            asked,
            ttl: None,
            announce: false,
            limit: Time::MAX,
        }
    }
}

/// The caller's lock, or its attempt at one. Dropping this takes the lock back in the background.
#[derive(Debug)]
pub(crate) struct Owned(Arc<QuorumLock>);

impl Deref for Owned {
    type Target = Arc<QuorumLock>;

    fn deref(&self) -> &Arc<QuorumLock> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.0.is_closed() {
            self.0.release(clock::now());
        }
    }
}

impl fmt::Debug for QuorumLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumLock")
            .field("key", &String::from_utf8_lossy(self.wire.key()))
            .finish_non_exhaustive()
    }
}

impl QuorumLock {
    /// Asks all nodes at once, under a new token, and does not wait. `asked` is the current time; after `limit` no vote is of use.
    pub(crate) fn ask(
        nodes: &Nodes,
        key: &[u8],
        options: &AcquireOptions,
        subscriptions: Option<Arc<Subscriptions>>,
        gauges: &Arc<Gauges>,
        asked: Time,
        limit: Time,
    ) -> Owned {
        let state = AcquireState {
            attempt: Attempt::new(nodes.len(), options.rules(nodes.node_timeout()), asked),
            causes: PerNode::new(nodes.len()),
            voters: PerNode::new(nodes.len()),
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
        let order = Order {
            limit,
            ..Order::new(Command::Set, asked)
        };
        lock.send(NodeSet::first(nodes.len()), order);
        Owned(lock)
    }

    fn send(self: &Arc<Self>, nodes: NodeSet, order: Order) {
        let Order {
            command,
            asked,
            ttl,
            announce,
            limit,
        } = order;
        for node in nodes {
            let job = LockJob {
                command,
                asker: Arc::clone(self) as Arc<dyn Asker>,
                node,
                asked,
                ttl,
                announce,
                spelled_out: false,
                route: Route::default(),
                deaths: 0,
                limit,
            };
            self.nodes.push(node, Job::Lock(job));
        }
    }

    fn state(&self) -> MutexGuard<'_, AcquireState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a step of the protocol, and wakes the tasks that it concerns.
    fn step(&self, step: impl FnOnce(&mut AcquireState) -> Effect) -> Effect {
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

    /// Waits from `now` until no further vote can change the outcome, the reply timeout is over, or `limit` is reached.
    /// Returns `None` if the lock is held from then on.
    pub(crate) async fn decided(&self, mut now: Time, limit: Time) -> Option<(Failed, Refusal)> {
        let mut waited = false;
        loop {
            let waiting = self.state().attempt.waiting(limit, now);
            let until = match waiting {
                Waiting::Over => {
                    if !waited && self.votes() < quorum(self.nodes()) {
                        // Refused at once. Whoever tries again at once would keep its thread from the connections.
                        yield_now().await;
                    }
                    return self.decide(false);
                }
                Waiting::CutShort => return self.decide(true),
                Waiting::Until(until) => until,
            };
            let decided = self.wait_for(|state| state.attempt.is_decided().then_some(()));
            if clock::timeout_at(until, decided).await.is_ok() {
                return self.decide(false);
            }
            (now, waited) = (clock::now(), true);
        }
    }

    /// Waits until `ready` returns a value, checking after each step that wakes the waiter.
    async fn wait_for<T>(&self, mut ready: impl FnMut(&AcquireState) -> Option<T>) -> T {
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

    /// Decides the attempt: `None` if the lock is held from now on.
    fn decide(&self, cut_short: bool) -> Option<(Failed, Refusal)> {
        let mut state = self.state();
        // The clock is read after the votes: the lock counts as held from this time at the earliest.
        let now = clock::now();
        let decision = state.attempt.decide(now);
        if decision == Decision::Granted {
            self.gauges.hold();
            self.gauges.change_partial(false, state.attempt.is_partial());
            return None;
        }
        let (votes, asked) = (state.attempt.votes(), state.attempt.start());
        let elapsed = now - asked;
        let failed = Failed::of(&state.attempt, decision, cut_short, now);
        let causes = self.causes(&state);
        drop(state);
        let refusal = match decision {
            Decision::Expired => Refusal::Expired { votes, elapsed },
            Decision::Contended => Refusal::Contended,
            Decision::Unknown => Refusal::Unknown { causes },
            Decision::NoQuorum | Decision::Granted => Refusal::no_quorum(quorum(self.nodes.len()), causes),
        };
        self.gauges
            .refuse(self.wire.key(), clock::instant(asked).into_std(), refusal.outcome());
        Some((failed, refusal))
    }

    /// Why each node gave no vote; `None` for each node that did.
    fn causes(&self, state: &AcquireState) -> Vec<Option<Cause>> {
        let cause = |node: usize| match state.attempt.vote(node) {
            Vote::Granted => None,
            Vote::Held | Vote::Gone => Some(Cause::Held),
            Vote::Written => Some(Cause::Timeout),
            Vote::Queued => Some(self.nodes.not_written(node, self.wire.key())),
            // These answers came with a cause.
            Vote::Never | Vote::Unconfirmed | Vote::Unknown => state.causes[node].clone().or(Some(Cause::Timeout)),
        };
        (0..self.nodes.len()).map(cause).collect()
    }

    // For the holder.

    /// Extends the lock by this TTL, or else by its own, counted from now, on the nodes that still hold it.
    pub(crate) async fn extend(self: &Arc<Self>, ttl: Option<Duration>) -> Result<Duration, NotExtended> {
        let now = clock::now();
        let until = self.valid_until(now).ok_or(NotExtended::Lost)?;
        let (nodes, asked, reply_timeout) = {
            let mut state = self.state();
            let own = state.attempt.rules().ttl;
            let nodes = state.attempt.extend_to(ttl.unwrap_or(own));
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
        let order = Order::new(Command::Extend, asked);
        self.send(nodes, Order { ttl, ..order });
        // Answers count even if the timeout fired meanwhile: the clock is read after them.
        let _ = clock::timeout_at(until.min(asked + reply_timeout), extending.decided()).await;
        let now = clock::now();
        let until = self.valid_until(now).ok_or(NotExtended::Lost)?;
        let missed = self.state().extensions.missed(asked);
        match missed {
            Some(causes) => Err(NotExtended::NoQuorum { causes }),
            None => Ok(until - now),
        }
    }

    /// The end of the validity, if it is still to come.
    fn valid_until(&self, now: Time) -> Option<Time> {
        self.lease().valid_until().filter(|until| *until > now)
    }

    /// Resolves when the lock is lost: at the end of its validity, or when too few nodes have its key.
    pub(crate) async fn lost(&self) {
        loop {
            let told = self.sooner.notified();
            tokio::pin!(told);
            // From here on no notification is missed, even one that comes before the wait.
            told.as_mut().enable();
            let look_again = self.state().attempt.lease_mut().on_timeout(clock::now());
            let Some(look_again) = look_again else { return };
            tokio::select! {
                () = told => {}
                () = clock::doze_until(look_again) => {}
            }
        }
    }

    /// The times of its renewals, one every `interval`.
    pub(crate) fn renewal(&self, interval: Duration) -> Renewal {
        let attempt = &self.state().attempt;
        Renewal::new(interval, attempt.rules(), attempt.start())
    }

    /// Sends what is due for its renewal, and does not wait.
    pub(crate) fn renew(self: &Arc<Self>, due: Due) {
        let well = if due.extend { self.nodes.well() } else { NodeSet::EMPTY };
        let (missing, nodes) = {
            let attempt = &mut self.state().attempt;
            let missing = if due.repair { attempt.repair() } else { NodeSet::EMPTY };
            (missing, attempt.renew(well))
        };
        let asked = clock::now();
        self.send(missing, Order::new(Command::Set, asked));
        self.send(nodes, Order::new(Command::Extend, asked));
    }

    /// Releases the lock at `now`, announces that to those who wait for it, and does not wait for the nodes.
    pub(crate) fn release(self: &Arc<Self>, now: Time) {
        let mut ended = None;
        let (nodes, announce) = {
            let mut state = self.state();
            let (was_held, was_partial) = (state.attempt.is_held(), state.attempt.is_partial());
            let nodes = state.attempt.close(now);
            state.waiter = None;
            if was_held && !state.attempt.is_held() {
                ended = Some((state.attempt.start(), state.attempt.lease().validity(now).is_zero()));
                self.gauges.change_partial(was_partial, false);
            }
            (nodes, was_held && self.subscriptions.is_some())
        };
        let order = Order::new(Command::Delete, now);
        self.send(nodes, Order { announce, ..order });
        if let Some((since, is_lost)) = ended {
            self.gauges.end(self.key(), since, is_lost, now);
        }
    }

    /// Resolves when a quorum has confirmed the release at `now`, all nodes have answered, or the reply timeout is over.
    pub(crate) async fn released(&self, now: Time) -> Released {
        let until = now + self.state().attempt.rules().reply_timeout;
        let released = self.wait_for(|state| state.attempt.released());
        match clock::timeout_at(until, released).await {
            Ok(released) => released,
            Err(_) => self.state().attempt.released_so_far(),
        }
    }

    // The state of the lock.

    /// Its lease: until when it may be relied on.
    pub(crate) fn lease(&self) -> Lease {
        *self.state().attempt.lease()
    }

    /// The number of nodes asked.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of votes now.
    pub(crate) fn votes(&self) -> usize {
        self.state().attempt.votes()
    }

    /// The servers that voted so far.
    pub(crate) fn voters(&self) -> Vec<SocketAddr> {
        self.state().voters.iter().copied().flatten().collect()
    }

    /// When its nodes were asked.
    pub(crate) fn start(&self) -> Time {
        self.state().attempt.start()
    }

    /// Whether it was released, or will never be held.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().attempt.is_closed()
    }

    /// The name of the keys.
    pub(crate) fn key(&self) -> &[u8] {
        self.wire.key()
    }

    /// The value of the keys.
    pub(crate) fn token(&self) -> &str {
        self.wire.token()
    }

    /// The number of votes that ever came, if no more can come.
    pub(crate) fn all_votes(&self) -> Option<usize> {
        let state = self.state();
        state.attempt.is_answered().then(|| state.attempt.ever_granted())
    }

    /// The number of votes that ever came, and when the nodes' time to reply is over.
    pub(crate) fn votes_so_far(&self) -> (usize, Time) {
        let attempt = &self.state().attempt;
        (attempt.ever_granted(), attempt.start() + attempt.rules().reply_timeout)
    }
}

impl Asker for QuorumLock {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn began(&self) -> Time {
        self.start()
    }

    fn on_written(&self, node: usize, command: Command, now: Time) -> bool {
        let attempt = &mut self.state().attempt;
        let written = match command {
            Command::Set => attempt.on_written(node, now),
            Command::Extend => attempt.on_extension_written(node, now),
            Command::Delete => true,
        };
        if written {
            self.gauges.send(node, command);
        }
        written
    }

    fn on_answer(&self, node: usize, report: Report, now: Time) -> bool {
        let Report {
            command,
            asked,
            ttl,
            answer,
            cause,
            server,
        } = report;
        let mut waiter = None;
        let effect = self.step(|state| match command {
            Command::Set => {
                state.causes[node] = cause;
                state.voters[node] = server.filter(|_| answer == Answer::Yes);
                state.attempt.on_vote(node, asked, answer, now)
            }
            Command::Extend => {
                waiter = state.extensions.on_answer(asked, node, answer, cause);
                let ttl = ttl.unwrap_or(state.attempt.rules().ttl);
                state.attempt.on_extended_to(node, asked, ttl, answer, now)
            }
            Command::Delete => state.attempt.on_deleted(node, answer, now),
        });
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        effect.finished
    }

    fn on_given_up(&self) {
        self.gauges.give_up();
    }

    fn on_release_delivered(&self, node: usize, subscribers: usize) {
        if let Some(subscriptions) = &self.subscriptions {
            subscriptions.on_release_delivered(node, self.wire.key(), subscribers);
        }
    }
}

/// An extension whose caller waits for it; dropping this forgets it.
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
    use crate::protocol::Answer;

    fn answer(lock: &QuorumLock, node: usize, command: Command, asked: Time, answer: Answer) {
        let report = Report {
            command,
            asked,
            ttl: None,
            answer,
            cause: None,
            server: None,
        };
        lock.on_answer(node, report, clock::now());
    }

    #[tokio::test(start_paused = true)]
    async fn the_loss_is_signalled_in_time_also_when_the_validity_ends_sooner_than_was_known() {
        let options = AcquireOptions::default();
        let start = clock::now();
        let lock = QuorumLock::ask(
            &Nodes::unconnected(3),
            b"k",
            &options,
            None,
            &Arc::default(),
            start,
            Time::MAX,
        );
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
            // Now the validity depends on the third key, which was not extended.
            answer(&lock, 0, Command::Extend, extended, Answer::No);
        };
        tokio::join!(lock.lost(), loses_a_key);
        assert!(clock::now() < start + options.ttl, "{:?}", clock::now() - start);
        assert_eq!(lock.lease().valid_until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_gauges_count_held_and_partial_locks() {
        let gauges = Arc::<Gauges>::default();
        let start = clock::now();
        let lock = QuorumLock::ask(
            &Nodes::unconnected(3),
            b"k",
            &AcquireOptions::default(),
            None,
            &gauges,
            start,
            Time::MAX,
        );
        let told = || (gauges.holding(), gauges.partial());
        for node in 0..2 {
            lock.on_written(node, Command::Set, start);
            answer(&lock, node, Command::Set, start, Answer::Yes);
        }
        assert_eq!(
            told(),
            (0, 0),
            "the votes are there, but the attempt is not decided yet"
        );
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
