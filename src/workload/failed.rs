use super::cache::CacheError;
use crate::store::StoreError;

/// How a request ends without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The lock was not to be had. The acquire's outcome is counted already.
    #[error("the lock was refused")]
    Refused,
    /// The run must end, and the lock was still waited for, or the work had not been written yet.
    #[error("given up")]
    Cancelled,
    /// The lock was lost before the work was written, and the arm heeds that.
    #[error("the lock was lost")]
    Lost,
    /// The cache node failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<redis::RedisError> for Failed {
    fn from(error: redis::RedisError) -> Self {
        Self::Cache(error.into())
    }
}
