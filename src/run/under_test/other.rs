use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use super::hold::OtherHold;
use lockstorm_lock::{AcquireOptions, Refusal};

/// What a lock answers in time.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A lock that is not the engine's, as one app server uses it.
pub trait OtherLock: Debug + Send + Sync {
    /// Acquires the lock on `key`, within the options' timeout. If the future is dropped, the lock may stay taken until its TTL.
    ///
    /// # Errors
    /// Why it was not acquired.
    fn acquire<'a>(&'a self, key: &'a str, options: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>>;

    /// Releases it. Returns whether that is confirmed.
    fn release<'a>(&'a self, hold: &'a OtherHold) -> Reply<'a, bool>;
}
