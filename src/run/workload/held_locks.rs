use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lockstorm_lock::{Guard, HeldLock};

/// The locks that workers of one app server and arm hold. It can be read from any thread.
#[derive(Debug, Default)]
pub struct HeldLocks(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    locks: HashMap<u64, HeldLock>,
    numbers: u64,
    /// The keys of those that were held when the app server died.
    orphans: Vec<String>,
}

/// An entry of a held lock. It is removed when this is dropped.
#[derive(Debug)]
pub struct HeldEntry<'a> {
    locks: &'a HeldLocks,
    number: u64,
}

impl HeldLocks {
    /// The locks that are held now.
    #[must_use]
    pub fn now(&self) -> Vec<HeldLock> {
        self.held().locks.values().cloned().collect()
    }

    /// Enters a lock; `None` if it has no nodes.
    pub fn enter(&self, guard: &Guard) -> Option<HeldEntry<'_>> {
        let lock = guard.held_lock()?;
        let mut held = self.held();
        held.numbers += 1;
        let number = held.numbers;
        held.locks.insert(number, lock);
        Some(HeldEntry { locks: self, number })
    }

    /// Notes that the app server dies: nobody will release what is held now. A lock whose validity has ended was lost before.
    pub fn orphan(&self) {
        let held = &mut *self.held();
        let valid = held.locks.values().filter(|lock| lock.is_valid());
        held.orphans = valid.map(|lock| lock.key().to_owned()).collect();
    }

    /// The keys of the locks that were held, and valid, when the app server died.
    #[must_use]
    pub fn orphans(&self) -> Vec<String> {
        self.held().orphans.clone()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // After a panic between two statements, the map is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldEntry<'_> {
    fn drop(&mut self) {
        self.locks.held().locks.remove(&self.number);
    }
}
