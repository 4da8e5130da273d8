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
use crate::node::wire::{self, Token};
use crate::nodes::Nodes;
use crate::options::AcquireOptions;
use crate::protocol::{Announcements, Caller, Failed, NodeSet, Step, Time, Wait, WaitAnnouncement};
use crate::quorum::lock::{Owned, QuorumLock};
use crate::refusal::Refusal;
use crate::renewals::Renewals;
use crate::waiting::channel::Channel;
use crate::waiting::lines::{Entered, Lines, Permit, TimeOver};
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
            nodes,
            renewals: Arc::new(Renewals::new()),
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
        let driver = Driver {
            callers: self,
            key,
            options,
            gauges,
            caller: Caller::new(
                options.wait,
                &options.rules(self.nodes.node_timeout()),
                since,
                options.timeout,
            ),
            permit: None,
            channel: None,
        };
        driver.acquire(since).await
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
        let lock = attempt.map_err(|(_, refusal)| refusal)?;
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
    ) -> Result<Owned, (Failed, Refusal)> {
        gauges.attempt();
        // Only waiters in line subscribe to releases, so only they announce theirs.
        let subscriptions = (options.wait == Wait::Queue).then(|| Arc::clone(&self.subscriptions));
        let lock = QuorumLock::ask(&self.nodes, key, options, subscriptions, gauges, now);
        match lock.decided(now, limit).await {
            None => Ok(lock),
            Some(failed) => Err(failed),
        }
    }

    /// How long the key will still exist on these nodes, by the answers that come before `until`.
    async fn remaining(&self, key: &str, held: NodeSet, until: Time) -> Vec<Duration> {
        let answers = self.nodes.ask(held, &wire::pttl(key), until, |_| false).await;
        answers
            .into_iter()
            .filter_map(|answer| time_left(answer?.ok()?))
            .collect()
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

/// Does what the protocol says for one caller of acquire.
struct Driver<'a> {
    callers: &'a Callers,
    key: &'a str,
    options: &'a AcquireOptions,
    gauges: &'a Arc<Gauges>,
    caller: Caller<Refusal>,
    /// Only a caller that waits in line has one.
    permit: Option<Permit>,
    /// Announcements about the key; none as long as nobody had to wait.
    channel: Option<Arc<Channel>>,
}

impl Driver<'_> {
    async fn acquire(mut self, mut now: Time) -> Result<Guard, Refusal> {
        loop {
            match self.step(|caller, channel| caller.poll(channel, now)) {
                Step::StandInLine(until) => {
                    let permit = self.stand_in_line(until).await;
                    let Ok((permit, waited)) = permit else {
                        let refusal = || self.callers.lines.refusal(self.key);
                        return Err(self.caller.into_last().unwrap_or_else(refusal));
                    };
                    if waited {
                        now = clock::now();
                    }
                    self.permit = Some(permit);
                    self.channel = self.callers.subscriptions.get(self.key);
                    self.step(|caller, channel| caller.on_turn(channel, waited, now));
                    continue;
                }
                Step::Wait(until) => {
                    let _waiting = self.gauges.wait();
                    match &self.channel {
                        Some(channel) => Box::pin(channel.wait_until(until)).await,
                        None => clock::sleep_until(until).await,
                    }
                }
                Step::Ask(limit) => {
                    let attempt = self.callers.attempt(self.key, self.options, self.gauges, now, limit);
                    match attempt.await {
                        Ok(lock) => return Ok(self.granted(lock)),
                        Err((failed, refusal)) => self.on_refused(&failed, refusal),
                    }
                }
                Step::LookUp(held, until) => Box::pin(self.look_up(held, until)).await,
                Step::Refuse(refusal) => return Err(refusal.unwrap_or(Refusal::Contended)),
            }
            now = clock::now();
        }
    }

    /// Takes a step of the protocol with the announcements, if there are any.
    fn step<T>(&mut self, step: impl FnOnce(&mut Caller<Refusal>, Option<&mut Announcements<Token>>) -> T) -> T {
        match &self.channel {
            Some(channel) => channel.with(|announcements| step(&mut self.caller, Some(announcements))),
            None => step(&mut self.caller, None),
        }
    }

    /// Waits until no other caller of this app server is ahead. Returns also whether there was a wait.
    async fn stand_in_line(&mut self, until: Time) -> Result<(Permit, bool), TimeOver> {
        let Callers {
            lines, subscriptions, ..
        } = self.callers;
        match lines.enter(self.key, self.caller.since()) {
            Entered::First(permit) => Ok((permit, false)),
            Entered::Behind(waiter) => {
                let _waiting = self.gauges.wait();
                // As long as no other app server waits, nothing needs to be announced and no subscription is needed. The
                // reply to a release says whether anybody is subscribed.
                self.channel = subscriptions.get(self.key);
                self.announce_front();
                // Boxed, so that the futures of callers that do not wait in line stay small.
                Ok((Box::pin(waiter.wait(until, self.options.ttl)).await?, true))
            }
        }
    }

    fn on_refused(&mut self, failed: &Failed, refusal: Refusal) {
        if let Some(permit) = &self.permit {
            if let Refusal::NotPermitted { .. } = refusal {
                // Waiting does not help.
                return self.caller.on_hopeless(refusal);
            }
            permit.note(&refusal);
            self.channel
                .get_or_insert_with(|| self.callers.subscriptions.join(self.key));
        }
        let (random, now) = (self.callers.random(), clock::now());
        let waited = self.step(|caller, channel| caller.on_refused(failed, refusal, channel, random, now));
        self.announce(waited);
    }

    /// Asks how long the key will still exist, unless there is a reason to ask for the lock meanwhile.
    async fn look_up(&mut self, held: NodeSet, until: Time) {
        let Some(channel) = self.channel.clone() else { return };
        let _waiting = self.gauges.wait();
        tokio::select! {
            () = channel.changed(self.caller.seen()) => {}
            remaining = self.callers.remaining(self.key, held, until) => {
                let (random, now) = (self.callers.random(), clock::now());
                self.step(|caller, channel| caller.on_remaining(remaining, channel, random, now));
            }
        }
    }

    fn granted(mut self, lock: Owned) -> Guard {
        if self.permit.is_some() && self.channel.is_none() {
            self.channel = self.callers.subscriptions.get(self.key);
        }
        self.announce_front();
        let (attempts, waited) = (self.caller.attempts(), self.caller.waited());
        self.callers.granted(lock, self.permit, self.options, attempts, waited)
    }

    /// Tells the other app servers how long the first waiter here has waited.
    fn announce_front(&self) {
        if let Some(channel) = &self.channel {
            let (front, now) = (self.callers.lines.front(self.key), clock::now());
            self.announce(channel.with(|announcements| announcements.announce(front, false, now)));
        }
    }

    fn announce(&self, waited: Option<WaitAnnouncement>) {
        if let Some(waited) = waited {
            self.callers.subscriptions.announce(self.key, &waited);
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
