//! Acquiring a lock, of whatever kind: attempts, retries, and waiting in line.
//!
//! Who waits in line stands behind those of this app server who came before; only the first of them asks. Between attempts it
//! waits for the news that the lock was released, and asks again without news from time to time, or when the key must have
//! expired: news can be lost, and holders can die.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    AcquireOptions, Gauges, Nodes, Refusal, Wait, clock,
    held::{Held, Owned},
    protocol::{Acquire, Decision, Next, NodeSet, Time},
    renewals::{Renewals, Renewing},
    waiting::{
        channel::Channel,
        lines::{Entered, Lines, Permit},
        subscriptions::Subscriptions,
    },
};

/// One kind of lock: how an attempt at it is made. Waiting, retries, renewal and loss are the same for all.
pub(crate) trait Kind {
    type Held: Held + 'static;

    /// Tries once, from `now` until `limit` at the latest.
    async fn attempt(
        &self,
        key: &str,
        options: &AcquireOptions,
        subscriptions: &Arc<Subscriptions>,
        gauges: &Arc<Gauges>,
        now: Time,
        limit: Time,
    ) -> Result<Owned<Self::Held>, Missed>;

    /// How long it is until the lock that the attempt missed is free, as far as is said until then.
    async fn remaining(&self, key: &str, missed: &Missed, until: Time) -> Option<Duration>;
}

/// An attempt that failed, with what the next one may want to know.
#[derive(Debug)]
pub(crate) struct Missed {
    pub(crate) decision: Decision,
    pub(crate) refusal: Refusal,
    pub(crate) votes: usize,
    /// The nodes where somebody else has the key.
    pub(crate) held: NodeSet,
    /// The limit ended it before the nodes had had their time, and before it was decided.
    pub(crate) cut_short: bool,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

/// What came of an acquire.
#[derive(Debug)]
pub(crate) struct Acquired<H: Held> {
    pub(crate) lock: Owned<H>,
    /// Ends when it is dropped.
    pub(crate) renewing: Option<Renewing>,
    /// Goes on to the next of this app server who waits.
    pub(crate) permit: Option<Permit>,
    pub(crate) attempts: u32,
    pub(crate) waited: bool,
}

/// What all acquires of a lock share.
#[derive(Debug)]
pub(crate) struct Callers {
    renewals: Arc<Renewals>,
    /// Those of this app server who wait.
    lines: Lines,
    /// Where releases are told.
    subscriptions: Arc<Subscriptions>,
    /// Draws the jitter, and nothing that safety depends on.
    rng: Mutex<StdRng>,
}

impl Callers {
    /// Of a lock whose releases these nodes tell.
    pub(crate) fn new(nodes: Nodes, seed: u64) -> Self {
        Self {
            renewals: Arc::new(Renewals::new()),
            lines: Lines::default(),
            subscriptions: Arc::new(Subscriptions::new(nodes)),
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Tries as often as the options say, and gives the last refusal.
    pub(crate) async fn acquire<K: Kind>(
        &self,
        kind: &K,
        key: &str,
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Acquired<K::Held>, Refusal> {
        let since = clock::now();
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
        caller.acquire(kind, waited, now).await
    }

    /// Tries once. If the options say to wait in line, those who do are told of the release.
    pub(crate) async fn try_acquire<K: Kind>(
        &self,
        kind: &K,
        key: &str,
        options: &AcquireOptions,
        gauges: &Arc<Gauges>,
    ) -> Result<Acquired<K::Held>, Refusal> {
        // If nobody has the permit, those who come while the lock is held wait behind it.
        let permit = (options.wait == Wait::Queue)
            .then(|| self.lines.try_enter(key))
            .flatten();
        let now = clock::now();
        let limit = now + options.timeout.min(options.ttl);
        let attempt = kind.attempt(key, options, &self.subscriptions, gauges, now, limit);
        let lock = attempt.await.map_err(|missed| missed.refusal)?;
        Ok(self.granted(lock, permit, options, 1, false))
    }

    fn granted<H: Held + 'static>(
        &self,
        lock: Owned<H>,
        permit: Option<Permit>,
        options: &AcquireOptions,
        attempts: u32,
        waited: bool,
    ) -> Acquired<H> {
        if let Some(permit) = &permit {
            permit.hold(&lock);
        }
        let renew = |interval| {
            self.renewals
                .start(Arc::clone(&lock) as Arc<dyn Held>, lock.renewal(interval))
        };
        let renewing = options.renew.map(renew);
        Acquired {
            lock,
            renewing,
            permit,
            attempts,
            waited,
        }
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
    /// Of who waits in line.
    permit: Option<Permit>,
    /// What is heard of the key; none as long as nobody had to wait.
    channel: Option<Arc<Channel>>,
    /// The number of reasons to ask again that were seen.
    seen: u64,
}

impl Caller<'_> {
    /// Waits until nobody of this app server is before us. Whether there was a wait.
    async fn stand_in_line(&mut self) -> Result<bool, Refusal> {
        let Callers {
            lines, subscriptions, ..
        } = self.callers;
        let (permit, waited) = match lines.enter(self.key, self.since) {
            Entered::First(permit) => (permit, false),
            Entered::Behind(waiter) => {
                let _waiting = self.gauges.wait();
                // Without others nobody needs to know, and nodes need not tell us. They say at a release if somebody is there.
                self.channel = subscriptions.get(self.key);
                self.announce(lines.front(self.key), false);
                let deadline = self.acquire.deadline();
                // In a place of its own: who does not wait in line need not keep room for it.
                (Box::pin(waiter.wait(deadline, self.options.ttl)).await?, true)
            }
        };
        self.permit = Some(permit);
        self.channel = subscriptions.get(self.key);
        Ok(waited)
    }

    async fn acquire<K: Kind>(
        mut self,
        kind: &K,
        mut waited: bool,
        mut now: Time,
    ) -> Result<Acquired<K::Held>, Refusal> {
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
            let subscriptions = &self.callers.subscriptions;
            let attempt = kind.attempt(self.key, self.options, subscriptions, self.gauges, now, limit);
            let missed = match attempt.await {
                Ok(lock) => return Ok(self.granted(lock, waited)),
                Err(missed) => missed,
            };
            // Cut short by the deadline it says less than the one before.
            if missed.cut_short
                && limit < ends
                && let Some(complete) = last
            {
                return Err(complete);
            }
            next = self.after(kind, &missed).await;
            if next.is_none() {
                return Err(missed.refusal);
            }
            last = Some(missed.refusal);
        }
    }

    /// When to ask for the first time; none: now.
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

    /// When to ask again after an attempt that failed; none: not again.
    async fn after<K: Kind>(&mut self, kind: &K, missed: &Missed) -> Option<Time> {
        let mut spread = Duration::ZERO;
        if let Some(permit) = &self.permit {
            if let Refusal::NotPermitted { .. } = missed.refusal {
                // Waiting does not help.
                return None;
            }
            permit.note(&missed.refusal);
            let join = || self.callers.subscriptions.join(self.key);
            let channel = Arc::clone(self.channel.get_or_insert_with(join));
            self.announce(Some(self.since), true);
            if missed.decision == Decision::Contended {
                // Without an answer it says nothing about round trips.
                channel.on_round_trip(missed.elapsed);
            }
            spread = channel.spread();
        }
        let (random, now) = (self.callers.random(), clock::now());
        match self
            .acquire
            .on_refused(missed.decision, missed.votes, spread, random, now)
        {
            Next::GiveUp => None,
            Next::At(at) => Some(at),
            Next::LookUp(latest) => Some(Box::pin(self.look_up(kind, missed, latest)).await),
        }
    }

    /// When to ask again, `latest` at the latest, as far as the nodes say how long the key is still there.
    async fn look_up<K: Kind>(&self, kind: &K, missed: &Missed, latest: Time) -> Time {
        let Some(channel) = &self.channel else {
            return latest;
        };
        let _waiting = self.gauges.wait();
        tokio::select! {
            () = channel.changed(self.seen) => latest,
            remaining = kind.remaining(self.key, missed, self.acquire.deadline()) => {
                let Some(remaining) = remaining else { return latest };
                let (random, now) = (self.callers.random(), clock::now());
                Acquire::on_remaining(latest, remaining, channel.yield_delay(self.since), random, now)
            }
        }
    }

    fn granted<H: Held + 'static>(self, lock: Owned<H>, waited: bool) -> Acquired<H> {
        let attempts = self.acquire.attempts();
        let Callers {
            lines, subscriptions, ..
        } = self.callers;
        if self.permit.is_some()
            && let Some(channel) = self
                .channel
                .as_ref()
                .map(Arc::clone)
                .or_else(|| subscriptions.get(self.key))
        {
            subscriptions.announce(self.key, &channel, lines.front(self.key), false);
        }
        self.callers.granted(lock, self.permit, self.options, attempts, waited)
    }

    /// Tells the other app servers since when the first of those waits here who will ask.
    fn announce(&self, since: Option<Time>, asked: bool) {
        if let Some(channel) = &self.channel {
            self.callers.subscriptions.announce(self.key, channel, since, asked);
        }
    }
}
