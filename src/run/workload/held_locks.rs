use std::sync::OnceLock;

use super::under_way::{Entry, UnderWay};
use lockstorm_lock::{Guard, HeldLock};

/// The locks that workers of one app server and arm hold. It can be read from any thread.
#[derive(Debug, Default)]
pub struct HeldLocks {
    locks: UnderWay<HeldLock>,
    /// The keys of those that were held when the app server died.
    orphans: OnceLock<Vec<String>>,
}

impl HeldLocks {
    /// The locks that are held now.
    pub fn now(&self) -> Vec<HeldLock> {
        self.locks.all()
    }

    /// Enters a lock, until the entry is dropped; `None` if it has no nodes.
    pub fn enter(&self, guard: &Guard) -> Option<Entry<'_, HeldLock>> {
        Some(self.locks.begin(guard.held_lock()?))
    }

    /// Notes that the app server dies: nobody will release what is held now. A lock whose validity has ended was lost before.
    pub fn orphan(&self) {
        let valid = self.now().into_iter().filter(HeldLock::is_valid);
        // It dies once.
        let _ = self.orphans.set(valid.map(|lock| lock.key().to_owned()).collect());
    }

    /// The keys of the locks that were held, and valid, when the app server died.
    pub fn orphans(&self) -> Vec<String> {
        self.orphans.get().cloned().unwrap_or_default()
    }
}
