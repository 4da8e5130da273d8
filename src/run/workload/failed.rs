use super::cache::CacheError;
use crate::store::StoreError;

/// Why a request ended without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The lock was refused. The acquire's outcome has been counted.
    #[error("the lock was refused")]
    Refused,
    /// The run must end, and the request was still waiting for the lock or had not written its work.
    #[error("given up")]
    Cancelled,
    /// The lock was lost before the work was written, and the arm aborts then.
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
