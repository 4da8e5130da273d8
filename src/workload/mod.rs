//! What workers do: read through caches that expire, or sell stock. One request at a time, counted in the recorder of their
//! app server and arm.

mod cache;
mod cache_fill;
mod chance;
mod dials;
mod inventory;
mod list;
mod object;
mod section;
mod trouble;
mod waiting;

use std::sync::Arc;

use rand::rngs::SmallRng;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use cache::{CACHE_CONNECT_TIMEOUT, CACHE_REPLY_TIMEOUT, Cache, CacheError, connect_cache};
pub use cache_fill::CacheFill;
pub use dials::Dials;
pub use inventory::{Inventory, batches, orders_in_cache, prepare_cache, stock_in_cache, stock_sold_in_cache};
pub use waiting::Waiting;

use crate::lock::Lock;
use crate::metrics::{Count, Counter, Part};
use crate::model::ServerId;
use crate::scenario::{ArmSpec, DatabaseSpec, WorkloadSpec};
use crate::store::{Store, StoreError};
use crate::timer::Timer;

/// What the workers of one app server and arm work with.
#[derive(Debug)]
pub struct Tools {
    /// The arm.
    pub arm: Arc<ArmSpec>,
    /// Its lock, on the connections of this app server: one that counts for the warm-up, and the same for the measured part.
    pub locks: [Lock; 2],
    /// Its tables, on the connections of this app server.
    pub store: Store,
    /// Its part of the cache node.
    pub cache: Cache,
    /// The acquires that have not ended yet.
    pub waiting: Arc<Waiting>,
    /// The knobs of the run.
    pub dials: Arc<Dials>,
    /// For all times that are simulated.
    pub timer: Timer,
    /// When this is cancelled, acquires that wait are given up, and so is work that only lets simulated time pass.
    pub hurry: CancellationToken,
    /// What goes on for a moment when its request has ended.
    pub after: TaskTracker,
    /// The app server.
    pub server: ServerId,
}

/// The work of one app server and arm, shared by its workers.
#[derive(Debug)]
pub enum Workload {
    /// Read through caches that expire.
    CacheFill(CacheFill),
    /// Sell stock.
    Inventory(Inventory),
}

impl Workload {
    /// The workload of the scenario for these workers.
    #[must_use]
    pub fn new(spec: &WorkloadSpec, database: &DatabaseSpec, tools: Tools) -> Self {
        match spec {
            WorkloadSpec::CacheFill { caches } => Self::CacheFill(CacheFill::new(caches, database.read, tools)),
            WorkloadSpec::Inventory(spec) => Self::Inventory(Inventory::new(spec, database.read, tools)),
        }
    }

    /// One request from start to end, with the random choices of the worker's own generator. Its answer is counted; that
    /// it was started and completed, and how long it took, is for the caller to count.
    pub async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng, worker: usize) -> Done {
        let (tools, answer) = match self {
            Self::CacheFill(work) => (work.tools(), work.request(counter, rng).await),
            Self::Inventory(work) => (work.tools(), work.request(counter, rng, worker).await),
        };
        match answer {
            Ok(()) => {}
            Err(Failed::Cancelled) => return Done::Cancelled,
            Err(Failed::Refused) => counter.count(Count::GaveUp),
            Err(Failed::Lost) => counter.count(Count::Aborted),
            Err(Failed::Store(StoreError::Fenced { .. })) => counter.count(Count::Fenced),
            Err(failed) => {
                tracing::debug!(arm = tools.arm.name, server = %tools.server, worker, "{failed}");
                counter.failed(|| failed.to_string());
            }
        }
        Done::Ended
    }
}

/// How a request came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// With an answer, or with a reason why there is none.
    Ended,
    /// Given up while it waited for its lock or let simulated time pass, since the run must end: it stays unfinished.
    Cancelled,
}

impl Tools {
    /// The lock that counts for this part of the run.
    const fn lock(&self, part: Part) -> &Lock {
        match part {
            Part::WarmUp => &self.locks[0],
            Part::Measured => &self.locks[1],
        }
    }
}

/// How a request ends without an answer.
#[derive(Debug, thiserror::Error)]
enum Failed {
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
