//! Work under a lock, which ends with the lock.

use crate::guard::Guard;
use crate::lock::Lock;
use crate::options::AcquireOptions;
use crate::refusal::Refusal;

/// Work under a lock was not done, or can't be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotDone {
    /// The lock was not acquired, and the work was not begun.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The lock was lost before the work ended. The work was stopped where it waited; what it had done until then, somebody else
    /// may have done at the same time.
    #[error("the lock was lost before the work ended")]
    Lost,
}

impl Lock {
    /// Acquires the lock on `key`, does `work`, releases the lock, and returns what the work returned. If the lock is lost, the work
    /// is dropped at once, at the point where it waits.
    ///
    /// # Errors
    /// If the lock was not acquired, or if it was lost before the work ended.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn using<T>(
        &self,
        key: impl AsRef<[u8]>,
        options: &AcquireOptions,
        work: impl AsyncFnOnce(&Guard) -> T,
    ) -> Result<T, NotDone> {
        let guard = self.acquire(key, options).await?;
        let done = tokio::select! {
            biased;
            () = guard.lost() => return Err(NotDone::Lost),
            done = work(&guard) => done,
        };
        if guard.is_lost() {
            return Err(NotDone::Lost);
        }
        guard.release().await;
        Ok(done)
    }
}
