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
use crate::protocol::{Announcements, Caller, Failed, NodeSet, Rules, Step, Time, Wait, WaitAnnouncement};
use crate::quorum::lock::{Owned, QuorumLock};
use crate::refusal::Refusal;
use crate::renewals::Renewals;
use crate::waiting::channel::Channel;
use crate::waiting::lines::{Lines, Permit, TimeOver};
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
            lines: Lines::new(nodes.clone()),
            nodes,
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Tries as often as the options say, and returns the last refusal.
    pub(crate) async fn acquire(
        &self,
        key: &[u8],
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Guard, Refusal> {
        self.check(key)?;
        let since = clock::lately();
        // Its future borrows it, and so does not keep it twice.
        let mut driver = Driver {
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
        key: &[u8],
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Guard, Refusal> {
        self.check(key)?;
        // If nobody has the permit, this caller takes it, so that later callers wait in line behind it while the lock is
        // held.
        let now = clock::lately();
        let limit = now + options.timeout.min(options.ttl);
        let permit = (options.wait == Wait::Queue)
            .then(|| self.lines.try_enter(key, now, limit))
            .flatten();
        let attempt = self.attempt(key, options, gauges, now, limit).await;
        let lock = attempt.map_err(|(_, refusal)| refusal)?;
        if let Some(permit) = &permit {
            permit.hold(&lock);
        }
        Ok(self.granted(lock, permit, options, 1, false))
    }

    /// Refuses a key that is too long to be sent.
    fn check(&self, key: &[u8]) -> Result<(), Refusal> {
        let (length, most) = (key.len(), self.nodes.longest_key());
        if length > most {
            return Err(Refusal::KeyTooLong { length, most });
        }
        Ok(())
    }

    /// Tries once, from `now` until `limit` at the latest.
    async fn attempt(
        &self,
        key: &[u8],
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
        now: Time,
        limit: Time,
    ) -> Result<Owned, (Failed, Refusal)> {
        gauges.attempt();
        // Only waiters in line subscribe to releases, so only they announce theirs.
        let subscriptions = (options.wait == Wait::Queue).then(|| Arc::clone(&self.subscriptions));
        let lock = QuorumLock::ask(&self.nodes, key, options, subscriptions, gauges, now, limit);
        match lock.decided(now, limit).await {
            None => Ok(lock),
            Some(failed) => Err(failed),
        }
    }

    /// How long the key will still exist on these nodes, by the answers that come before `until`.
    async fn remaining(&self, key: &[u8], held: NodeSet, until: Time) -> Vec<Duration> {
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
    key: &'a [u8],
    options: &'a AcquireOptions,
    gauges: &'a Arc<Gauges>,
    caller: Caller<Refusal>,
    /// Only a caller that waits in line has one.
    permit: Option<Permit>,
    /// Announcements about the key; none as long as nobody had to wait.
    channel: Option<Arc<Channel>>,
}

impl Driver<'_> {
    async fn acquire(&mut self, mut now: Time) -> Result<Guard, Refusal> {
        loop {
            match self.step(|caller, channel| caller.poll(channel, now)) {
                Step::StandInLine(until) => {
                    let waited = self.stand_in_line(now, until).await;
                    let Ok(waited) = waited else {
                        if let Some(ended) = self.callers.nodes.ended() {
                            return Err(ended);
                        }
                        let told = self.caller.take_last();
                        return Err(told.unwrap_or_else(|| self.callers.lines.refusal(self.key, &self.rules())));
                    };
                    if waited {
                        now = clock::now();
                    }
                    self.channel = self.callers.subscriptions.get(self.key);
                    self.step(|caller, channel| caller.on_turn(channel, waited, now));
                    continue;
                }
                Step::Wait(until) if self.promise(until) => {
                    let _waiting = self.gauges.wait();
                    match &self.channel {
                        Some(channel) => Box::pin(channel.wait_until(until)).await,
                        None => clock::sleep_until(until).await,
                    }
                }
                Step::Ask(limit) if self.promise(limit) => {
                    let attempt = self.callers.attempt(self.key, self.options, self.gauges, now, limit);
                    match attempt.await {
                        Ok(lock) => return Ok(self.granted(lock)),
                        Err((failed, refusal)) => self.on_refused(&failed, refusal),
                    }
                }
                Step::LookUp(held, until) if self.promise(until) => Box::pin(self.look_up(held, until)).await,
                Step::Wait(_) | Step::Ask(_) | Step::LookUp(..) => {}
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

    /// Its turn in line lasts at least until then, if it stands in line. Returns false if it is over, and tells the protocol.
    fn promise(&mut self, until: Time) -> bool {
        let kept = self.permit.as_mut().is_none_or(|permit| permit.promise(until));
        if !kept {
            self.caller.on_turn_over();
            self.permit = None;
        }
        kept
    }

    fn rules(&self) -> Rules {
        self.options.rules(self.callers.nodes.node_timeout())
    }

    /// Waits until no other caller of this app server is ahead. Returns whether there was a wait.
    async fn stand_in_line(&mut self, now: Time, until: Time) -> Result<bool, TimeOver> {
        let since = self.caller.since();
        let asks_until = until.min(now + self.options.ttl);
        let (mut permit, waits) = self.callers.lines.enter(self.key, since, asks_until);
        if waits {
            let _waiting = self.gauges.wait();
            // As long as no other app server waits, nothing needs to be announced and no subscription is needed. The
            // reply to a release says whether anybody is subscribed.
            self.channel = self.callers.subscriptions.get(self.key);
            self.announce_waiting();
            // Boxed, so that the futures of callers that do not wait in line stay small.
            let nodes = &self.callers.nodes;
            let turn = async {
                tokio::select! {
                    biased;
                    turn = permit.turn(since, until) => turn,
                    () = nodes.until_shut() => Err(TimeOver),
                }
            };
            Box::pin(turn).await?;
        }
        self.permit = Some(permit);
        Ok(waits)
    }

    fn on_refused(&mut self, failed: &Failed, refusal: Refusal) {
        if let Some(permit) = &self.permit {
            if refusal.is_hopeless() {
                return self.caller.on_hopeless(refusal);
            }
            permit.note(self.rules(), &refusal);
            self.channel
                .get_or_insert_with(|| self.callers.subscriptions.join(self.key));
        }
        let (random, now) = (self.callers.random(), clock::now());
        let waited = self.step(|caller, channel| caller.on_refused(failed, refusal, channel, random, now));
        self.announce(waited);
        if self.caller.steps_back() {
            self.permit = None;
        }
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

    fn granted(&mut self, lock: Owned) -> Guard {
        let permit = self.permit.take();
        if let Some(permit) = &permit {
            permit.hold(&lock);
            self.channel = self.channel.take().or_else(|| self.callers.subscriptions.get(self.key));
        }
        let (attempts, waited) = (self.caller.attempts(), self.caller.waited());
        self.callers.granted(lock, permit, self.options, attempts, waited)
    }

    /// Tells the other app servers how long the first waiter here has waited, if anybody waits.
    fn announce_waiting(&self) {
        if let Some(channel) = &self.channel {
            let (since, now) = (self.callers.lines.waiting_since(self.key), clock::now());
            self.announce(channel.with(|announcements| announcements.announce(since, false, now)));
        }
    }

    fn announce(&self, waited: Option<WaitAnnouncement>) {
        if let (Some(waited), Some(channel)) = (waited, &self.channel) {
            self.callers.subscriptions.announce(self.key, channel, &waited);
        }
    }
}

/// Whoever it was that waited does so no more: others need not wait for it.
impl Drop for Driver<'_> {
    fn drop(&mut self) {
        self.permit = None;
        self.announce_waiting();
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
