//! Locks whose grants are kept one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Which locks are watched, by their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Watched {
    /// None: the usual case, which costs nothing.
    #[default]
    Nothing,
    /// Every lock: an app server is about to die, and which locks it leaves behind is not known yet.
    All,
    /// The locks with these keys.
    These(Arc<BTreeSet<Box<str>>>),
}

/// A grant of a watched lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedGrant {
    /// The key of the lock.
    pub key: Box<str>,
    /// When it was granted, in microseconds from second 0.
    pub at: i64,
}

impl Watched {
    /// Whether the lock with this key is watched.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::These(keys) => keys.contains(key),
        }
    }
}
