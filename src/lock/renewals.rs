//! The renewals of all locks of one app server, with one timer.
//!
//! Due renewals are done together, a little early rather than late, and their answers count when they come: no task
//! waits for them. After a pause of the app server there is nothing to catch up on.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use super::claim::Claim;

/// Renewals may be done early by this part of their interval, so that many are done at once.
const EARLY: u32 = 64;

/// But not earlier than this.
const EARLIEST: Duration = Duration::from_millis(16);

/// The renewals of a lock and its clones.
#[derive(Debug)]
pub(super) struct Renewals {
    /// Times are milliseconds since then.
    base: Instant,
    due: Mutex<Due>,
    /// Something is due earlier than the timer is set to.
    earlier: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Due {
    /// What is to be looked at when; it may name renewals that have ended.
    times: BTreeMap<u64, Vec<u64>>,
    renewals: HashMap<u64, Renewal>,
    last_id: u64,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Renewal {
    claim: Arc<Claim>,
    interval: Duration,
    /// When the lock was last extended, or acquired.
    begun: Instant,
    /// The end of the validity then; none if that is not to be compared.
    ended: Option<Instant>,
}

/// A renewal that goes on until this is dropped.
#[derive(Debug)]
pub(super) struct Renewing {
    renewals: Arc<Renewals>,
    id: u64,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        let renewal = self.renewals.lock().renewals.remove(&self.id);
        // Not with the lock held: it may be the last owner of its claim's nodes.
        drop(renewal);
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Renewals {
    pub(super) fn new() -> Self {
        Self {
            base: Instant::now(),
            due: Mutex::default(),
            earlier: Arc::default(),
        }
    }

    /// Extends `claim` every `interval` from its start on, until it is lost or what this returns is dropped.
    pub(super) fn start(self: &Arc<Self>, claim: &Arc<Claim>, interval: Duration) -> Renewing {
        let mut due = self.lock();
        due.last_id += 1;
        let id = due.last_id;
        let renewal = Renewal {
            claim: Arc::clone(claim),
            interval,
            begun: claim.start(),
            ended: None,
        };
        let at = self.time(claim.start() + interval, interval);
        let first = due.put(id, at);
        due.renewals.insert(id, renewal);
        if due.task.as_ref().is_none_or(JoinHandle::is_finished) {
            due.task = Some(tokio::spawn(run(Arc::downgrade(self), Arc::clone(&self.earlier))));
        } else if first {
            self.earlier.notify_one();
        }
        drop(due);
        Renewing {
            renewals: Arc::clone(self),
            id,
        }
    }

    /// The milliseconds to `at`, a little less, so that others fall together with it.
    fn time(&self, at: Instant, interval: Duration) -> u64 {
        let grain = millis((interval / EARLY).min(EARLIEST)).max(1);
        millis(at.saturating_duration_since(self.base)) / grain * grain
    }

    /// Does what is due and says when to come back; none if there is nothing to come back for.
    fn renew(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut due = self.lock();
        let mut later = due.times.split_off(&(millis(now - self.base) + 1));
        std::mem::swap(&mut due.times, &mut later);
        let mut extended = Vec::new();
        for id in later.into_values().flatten() {
            let Some(renewal) = due.renewals.get_mut(&id) else {
                continue;
            };
            let Some(next) = renewal.turn(now, &mut extended) else {
                continue;
            };
            // Never again in the same millisecond.
            let at = self.time(next, renewal.interval).max(millis(now - self.base) + 1);
            due.put(id, at);
        }
        let next = due.times.keys().next().copied();
        drop(due);
        for claim in extended {
            claim.extend(None);
        }
        next.map(|at| self.base + Duration::from_millis(at))
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Due {
    /// Whether it is the first of all.
    fn put(&mut self, id: u64, at: u64) -> bool {
        let first = self.times.keys().next().is_none_or(|&first| at < first);
        self.times.entry(at).or_default().push(id);
        first
    }
}

impl Renewal {
    /// What is to be done now, and when to come back; never again once the lock is lost.
    fn turn(&mut self, now: Instant, extended: &mut Vec<Arc<Claim>>) -> Option<Instant> {
        let ends = self.claim.ends().filter(|ends| *ends > now)?;
        if self.ended.take().is_some_and(|ended| ends > ended) {
            // The last extension has done it.
            self.claim.repair();
            let next = self.begun + self.interval;
            if next > now + self.interval / EARLY {
                return Some(next);
            }
        }
        (self.begun, self.ended) = (now, Some(ends));
        extended.push(Arc::clone(&self.claim));
        // To see whether it worked, and to try again if not, long before the next one would be due.
        Some(now + self.interval.min(self.claim.node_timeout() * 2))
    }
}

/// Renews until nobody has the renewals any more: it must not keep them while it waits.
async fn run(renewals: Weak<Renewals>, earlier: Arc<Notify>) {
    loop {
        let Some(next) = renewals.upgrade().map(|renewals| renewals.renew()) else {
            return;
        };
        match next {
            Some(next) => tokio::select! {
                () = sleep_until(next) => {}
                () = earlier.notified() => {}
            },
            None => earlier.notified().await,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
