//! The renewals of all locks of one app server, with one timer.
//!
//! Renewals that are due are sent together, and no task waits for their answers: they count whenever they come.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::clock;
use crate::nodes::Nodes;
use crate::protocol::{Renewal, Time};
use crate::quorum::lock::QuorumLock;
use crate::trace::event;

/// The renewals of a lock and its clones.
#[derive(Debug)]
pub(crate) struct Renewals {
    /// Whose runtime renews: the one that acquires may end sooner.
    nodes: Nodes,
    schedule: Mutex<Schedule>,
    /// Notified when something is due before the timer fires.
    earlier: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Schedule {
    /// Which renewals to check at which time; they may include renewals that have ended.
    times: BTreeMap<Time, Vec<u64>>,
    renewals: HashMap<u64, (Arc<QuorumLock>, Renewal)>,
    last_id: u64,
    task: Option<JoinHandle<()>>,
}

/// A renewal that goes on until this is dropped.
#[derive(Debug)]
pub(crate) struct Renewing {
    renewals: Arc<Renewals>,
    id: u64,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        let renewal = self.renewals.lock().renewals.remove(&self.id);
        // Dropped after the mutex is unlocked: the renewal may be the last owner of the nodes.
        drop(renewal);
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Renewals {
    pub(crate) fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            schedule: Mutex::default(),
            earlier: Arc::default(),
        }
    }

    /// Extends `lock` whenever `renewal` says so, until the lock is lost or the returned value is dropped.
    pub(crate) fn start(self: &Arc<Self>, lock: Arc<QuorumLock>, renewal: Renewal) -> Renewing {
        let mut schedule = self.lock();
        schedule.last_id += 1;
        let id = schedule.last_id;
        let first = schedule.put(id, renewal.first());
        schedule.renewals.insert(id, (lock, renewal));
        if schedule.task.as_ref().is_none_or(JoinHandle::is_finished) {
            let task = run(Arc::downgrade(self), Arc::clone(&self.earlier));
            schedule.task = Some(self.nodes.spawn(task));
        } else if first {
            self.earlier.notify_one();
        }
        drop(schedule);
        Renewing {
            renewals: Arc::clone(self),
            id,
        }
    }

    /// Does what is due and returns when to come back; `None` if nothing is left to do.
    fn renew(&self) -> Option<Time> {
        let now = clock::now();
        let mut schedule = self.lock();
        let later = schedule.times.split_off(&(now + Duration::from_nanos(1)));
        let due_now = std::mem::replace(&mut schedule.times, later);
        let mut all_due = Vec::new();
        for id in due_now.into_values().flatten() {
            let Some((lock, renewal)) = schedule.renewals.get_mut(&id) else {
                continue;
            };
            let Some(due) = renewal.on_timeout(lock.lease().valid_until(), now) else {
                continue;
            };
            all_due.push((Arc::clone(lock), due));
            schedule.put(id, due.next);
        }
        if schedule.renewals.is_empty() {
            // Nothing is worth a wake-up any more.
            schedule.times.clear();
        }
        let next = schedule.times.keys().next().copied();
        drop(schedule);
        for (lock, due) in all_due {
            if due.again {
                event!(warn, left = ?lock.lease().validity(now), "the renewal of a lock has not worked yet");
            }
            lock.renew(due);
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Schedule {
    /// Plans a check of renewal `id`. Returns whether it is the earliest of all.
    fn put(&mut self, id: u64, at: Time) -> bool {
        let first = self.times.keys().next().is_none_or(|&first| at < first);
        self.times.entry(at).or_default().push(id);
        first
    }
}

/// Renews until the renewals are dropped. The task must not keep them alive while it waits, hence the weak reference.
async fn run(renewals: Weak<Renewals>, earlier: Arc<Notify>) {
    loop {
        let Some(next) = renewals.upgrade().map(|renewals| renewals.renew()) else {
            return;
        };
        match next {
            Some(next) => tokio::select! {
                () = clock::doze_until(next) => {}
                () = earlier.notified() => {}
            },
            None => earlier.notified().await,
        }
    }
}
