//! The renewals of all locks of one app server, with one timer.
//!
//! Due renewals are done together, and their answers count when they come: no task waits for them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    clock,
    held::Held,
    protocol::{Renewal, Time},
};

/// The least time between two looks at the same renewal.
const AGAIN: Duration = Duration::from_millis(1);

/// The renewals of a lock and its clones.
#[derive(Debug)]
pub(crate) struct Renewals {
    schedule: Mutex<Schedule>,
    /// Something is due earlier than the timer is set to.
    earlier: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Schedule {
    /// What is to be looked at when; it may name renewals that have ended.
    times: BTreeMap<Time, Vec<u64>>,
    renewals: HashMap<u64, (Arc<dyn Held>, Renewal)>,
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
        // Not with the lock held: it may be the last owner of the nodes.
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
    pub(crate) fn new() -> Self {
        Self {
            schedule: Mutex::default(),
            earlier: Arc::default(),
        }
    }

    /// Extends `lock` when `renewal` says so, until it is lost or what this returns is dropped.
    pub(crate) fn start(self: &Arc<Self>, lock: Arc<dyn Held>, renewal: Renewal) -> Renewing {
        let mut schedule = self.lock();
        schedule.last_id += 1;
        let id = schedule.last_id;
        let first = schedule.put(id, renewal.first());
        schedule.renewals.insert(id, (lock, renewal));
        if schedule.task.as_ref().is_none_or(JoinHandle::is_finished) {
            schedule.task = Some(tokio::spawn(run(Arc::downgrade(self), Arc::clone(&self.earlier))));
        } else if first {
            self.earlier.notify_one();
        }
        drop(schedule);
        Renewing {
            renewals: Arc::clone(self),
            id,
        }
    }

    /// Does what is due and says when to come back; none if there is nothing to come back for.
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
            schedule.put(id, due.next.max(now + AGAIN));
        }
        let next = schedule.times.keys().next().copied();
        drop(schedule);
        for (lock, due) in all_due {
            lock.renew(due);
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Schedule {
    /// Whether it is the first of all.
    fn put(&mut self, id: u64, at: Time) -> bool {
        let first = self.times.keys().next().is_none_or(|&first| at < first);
        self.times.entry(at).or_default().push(id);
        first
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
                () = clock::sleep_until(next) => {}
                () = earlier.notified() => {}
            },
            None => earlier.notified().await,
        }
    }
}
