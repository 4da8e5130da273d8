//! Acquires a lock on a quorum of nodes: attempts, retries, and waiting in line. On a single node this is `SET NX PX` with
//! compare-and-delete.
//!
//! Callers of one app server that want the same key stand in line, and only the first of them asks the nodes. Between
//! attempts it waits for the announcement that the lock was released. Announcements can be lost and holders can die, so it
//! also asks again from time to time, and when the key must have expired.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::clock;
use crate::gauges::Gauges;
use crate::guard::Guard;
use crate::node::wire;
use crate::nodes::Nodes;
use crate::options::AcquireOptions;
use crate::protocol::{Acquire, Decision, Next, Time, Wait, free_after, quorum};
use crate::quorum::lock::{FailedAttempt, Owned, QuorumLock};
use crate::refusal::Refusal;
use crate::renewals::Renewals;
use crate::waiting::channel::Channel;
use crate::waiting::lines::{Entered, Lines, Permit};
use crate::waiting::subscriptions::Subscriptions;

/// What all acquires of a lock share.
#[derive(Debug)]
pub(crate) struct Callers {
    nodes: Nodes,
    renewals: Arc<Renewals>,
    /// The waiters of this app server.
    lines: Lines,
    /// How waiters learn of releases.
    subscriptions: Arc<Subscriptions>,
    /// Draws the jitter; safety never depends on it.
    rng: Mutex<StdRng>,
}

impl Callers {
    /// For a lock that more than half of these nodes must vote for.
    pub(crate) fn new(nodes: Nodes, seed: u64) -> Self {
        Self {
            subscriptions: Arc::new(Subscriptions::new(nodes.clone())),
            renewals: Arc::new(Renewals::new(nodes.clone())),
            nodes,
            lines: Lines::default(),
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Tries as often as the options say, and returns the last refusal.
    pub(crate) async fn acquire(
        &self,
        key: &str,
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Guard, Refusal> {
        self.check(key)?;
        let since = clock::lately();
        let mut caller = Caller {
            callers: self,
            key,
            options,
            gauges,
            since,
            acquire: Acquire::new(options.wait, since + options.timeout),
            permit: None,
            channel: None,
            seen: 0,
        };
        let mut waited = false;
        if options.wait == Wait::Queue {
            waited = caller.stand_in_line().await?;
        }
        let now = if waited { clock::now() } else { since };
        caller.acquire(waited, now).await
    }

    /// Tries once. If the options say to wait in line, the release is announced to those who wait.
    pub(crate) async fn try_acquire(
        &self,
        key: &str,
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Guard, Refusal> {
        self.check(key)?;
        // If nobody has the permit, this caller takes it, so that later callers wait in line behind it while the lock is
        // held.
        let permit = (options.wait == Wait::Queue)
            .then(|| self.lines.try_enter(key))
            .flatten();
        let now = clock::lately();
        let limit = now + options.timeout.min(options.ttl);
        let attempt = self.attempt(key, options, gauges, now, limit).await;
        let lock = attempt.map_err(|failed| failed.refusal)?;
        Ok(self.granted(lock, permit, options, 1, false))
    }

    /// Refuses a key that is too long to be sent.
    fn check(&self, key: &str) -> Result<(), Refusal> {
        let (length, most) = (key.len(), self.nodes.longest_key());
        if length > most {
            return Err(Refusal::KeyTooLong { length, most });
        }
        Ok(())
    }

    /// Tries once, from `now` until `limit` at the latest.
    async fn attempt(
        &self,
        key: &str,
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
        now: Time,
        limit: Time,
    ) -> Result<Owned, FailedAttempt> {
        gauges.attempt();
        // Only waiters in line subscribe to releases, so only they announce theirs.
        let subscriptions = (options.wait == Wait::Queue).then(|| Arc::clone(&self.subscriptions));
        let lock = QuorumLock::ask(&self.nodes, key, options, subscriptions, gauges, now, limit);
        match lock.decided(now, limit).await {
            None => Ok(lock),
            Some(failed) => Err(failed),
        }
    }

    /// How long it takes until the lock that the attempt did not get is free, by the answers that come before `until`.
    async fn remaining(&self, key: &str, failed: &FailedAttempt, until: Time) -> Option<Duration> {
        let until = until.min(clock::now() + self.nodes.node_timeout());
        let answers = self.nodes.ask(failed.held, &wire::pttl(key), until, |_| false).await;
        let remaining = answers
            .into_iter()
            .filter_map(|answer| time_left(answer?.ok()?))
            .collect();
        free_after(remaining, quorum(self.nodes.len()).saturating_sub(failed.votes))
    }

    fn granted(
        &self,
        lock: Owned,
        permit: Option<Permit>,
        options: &AcquireOptions,
        attempts: u32,
        waited: bool,
    ) -> Guard {
        if let Some(permit) = &permit {
            permit.hold(&lock);
        }
        let renew = |interval| self.renewals.start(Arc::clone(&lock), lock.renewal(interval));
        let renewing = options.renew.map(renew);
        Guard::quorum(lock, renewing, permit, attempts, waited)
    }

    fn random(&self) -> u64 {
        self.rng.lock().unwrap_or_else(PoisonError::into_inner).random()
    }
}

/// One caller of acquire.
struct Caller<'a> {
    callers: &'a Callers,
    key: &'a str,
    options: &'a AcquireOptions,
    gauges: &'a Arc<Gauges>,
    /// When the wait began.
    since: Time,
    acquire: Acquire,
    /// Only a caller that waits in line has one.
    permit: Option<Permit>,
    /// Announcements about the key; none as long as nobody had to wait.
    channel: Option<Arc<Channel>>,
    /// The number of reasons to ask again that were seen.
    seen: u64,
}

impl Caller<'_> {
    /// Waits until no other caller of this app server is ahead. Returns whether there was a wait.
    async fn stand_in_line(&mut self) -> Result<bool, Refusal> {
        let Callers {
            lines, subscriptions, ..
        } = self.callers;
        let (permit, waited) = match lines.enter(self.key, self.since) {
            Entered::First(permit) => (permit, false),
            Entered::Behind(waiter) => {
                let _waiting = self.gauges.wait();
                // As long as no other app server waits, nothing needs to be announced and no subscription is needed. The
                // reply to a release says whether anybody is subscribed.
                self.channel = subscriptions.get(self.key);
                self.announce(lines.front(self.key), false);
                let deadline = self.acquire.deadline();
                // Boxed, so that the futures of callers that do not wait in line stay small.
                (Box::pin(waiter.wait(deadline, self.options.ttl)).await?, true)
            }
        };
        self.permit = Some(permit);
        self.channel = subscriptions.get(self.key);
        Ok(waited)
    }

    async fn acquire(mut self, mut waited: bool, mut now: Time) -> Result<Guard, Refusal> {
        let mut last: Option<Refusal> = None;
        let mut next = self.first(now);
        loop {
            if let Some(at) = next {
                waited = true;
                let _waiting = self.gauges.wait();
                self.wait_until(at).await;
                now = clock::now();
            }
            if !self.acquire.begins(now)
                && let Some(refusal) = last
            {
                return Err(refusal);
            }
            // Later votes are worth nothing.
            let ends = now + self.options.ttl;
            let limit = self.acquire.deadline().min(ends);
            let attempt = self.callers.attempt(self.key, self.options, self.gauges, now, limit);
            let failed = match attempt.await {
                Ok(lock) => return Ok(self.granted(lock, waited)),
                Err(failed) => failed,
            };
            // Cut short by the deadline, this attempt says less than the one before.
            if failed.cut_short
                && limit < ends
                && let Some(complete) = last
            {
                return Err(complete);
            }
            next = self.after(&failed).await;
            if next.is_none() {
                return Err(failed.refusal);
            }
            last = Some(failed.refusal);
        }
    }

    /// When to ask for the first time; `None` means now.
    fn first(&mut self, now: Time) -> Option<Time> {
        let channel = self.channel.as_ref()?;
        self.seen = channel.changes();
        let at = now + channel.yield_delay(self.since);
        (at > now).then_some(at)
    }

    /// Waits until it is time to ask again.
    async fn wait_until(&mut self, at: Time) {
        let Some(channel) = &self.channel else {
            return clock::sleep_until(at).await;
        };
        let deadline = self.acquire.deadline();
        Box::pin(channel.wait_to_ask(self.since, at, self.seen, deadline)).await;
        self.seen = channel.changes();
    }

    /// When to ask again after an attempt that failed; `None` means never.
    async fn after(&mut self, failed: &FailedAttempt) -> Option<Time> {
        let mut spread = Duration::ZERO;
        if let Some(permit) = &self.permit {
            if let Refusal::NotPermitted { .. } = failed.refusal {
                // Waiting does not help.
                return None;
            }
            permit.note(&failed.refusal);
            let join = || self.callers.subscriptions.join(self.key);
            let channel = Arc::clone(self.channel.get_or_insert_with(join));
            self.announce(Some(self.since), true);
            if failed.decision == Decision::Contended {
                // Other attempts may lack answers and then say nothing about round trips.
                channel.on_round_trip(failed.elapsed);
            }
            spread = channel.spread();
        }
        let (random, now) = (self.callers.random(), clock::now());
        match self
            .acquire
            .on_refused(failed.decision, failed.votes, spread, random, now)
        {
            Next::GiveUp => None,
            Next::At(at) => Some(at),
            Next::LookUp(latest) => Some(Box::pin(self.look_up(failed, latest)).await),
        }
    }

    /// When to ask again, judged by how long the nodes say that the key still exists; no later than `latest`.
    async fn look_up(&self, failed: &FailedAttempt, latest: Time) -> Time {
        let Some(channel) = &self.channel else {
            return latest;
        };
        let _waiting = self.gauges.wait();
        tokio::select! {
            () = channel.changed(self.seen) => latest,
            remaining = self.callers.remaining(self.key, failed, self.acquire.deadline()) => {
                let Some(remaining) = remaining else { return latest };
                let (random, now) = (self.callers.random(), clock::now());
                Acquire::on_remaining(latest, remaining, channel.yield_delay(self.since), random, now)
            }
        }
    }

    fn granted(mut self, lock: Owned, waited: bool) -> Guard {
        let Callers {
            lines, subscriptions, ..
        } = self.callers;
        if self.permit.is_some() && self.channel.is_none() {
            self.channel = subscriptions.get(self.key);
        }
        if self.channel.is_some() {
            self.announce(lines.front(self.key), false);
        }
        let attempts = self.acquire.attempts();
        self.callers.granted(lock, self.permit, self.options, attempts, waited)
    }

    /// Tells the other app servers how long the first waiter here has waited.
    fn announce(&self, since: Option<Time>, asked: bool) {
        if let Some(channel) = &self.channel {
            self.callers.subscriptions.announce(self.key, channel, since, asked);
        }
    }
}

/// The remaining time in a `PTTL` reply, rounded up, since the key still exists in its last millisecond. `None` for a key
/// that never expires.
fn time_left(millis: i64) -> Option<Duration> {
    match millis {
        -2 => Some(Duration::ZERO),
        millis => Some(Duration::from_millis(u64::try_from(millis).ok()? + 1)),
    }
}
