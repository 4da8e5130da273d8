//! The work of the workers: reading through caches that expire, or selling stock, one request at a time. It is counted in
//! the recorder of the app server and arm.

mod cache;
mod cache_fill;
mod failed;
mod filler;
mod held_locks;
mod hurry;
mod inventory;
mod list;
mod live_settings;
mod object;
mod random;
mod section;
mod stalls;
mod tools;
mod waiting;

use rand::rngs::SmallRng;

pub use cache::{CACHE_CONNECT_TIMEOUT, CACHE_REPLY_TIMEOUT, Cache, CacheError, connect_cache};
pub use cache_fill::CacheFill;
pub use held_locks::{HeldEntry, HeldLocks};
pub use hurry::Hurry;
pub use inventory::{Inventory, batches, orders_in_cache, prepare_cache, stock_in_cache, stock_sold_in_cache};
pub use live_settings::LiveSettings;
pub use stalls::Stalls;
pub use tools::Tools;
pub use waiting::Waiting;

use failed::Failed;

use crate::metrics::{Count, Counter};
use crate::scenario::{DatabaseSpec, WorkloadSpec};
use crate::store::StoreError;

/// The work of one app server and arm, shared by its workers.
#[derive(Debug)]
pub enum Workload {
    /// Reads through caches that expire.
    CacheFill(CacheFill),
    /// Sells stock.
    Inventory(Inventory),
}

impl Workload {
    /// The workload of the scenario, for these workers.
    #[must_use]
    pub fn new(spec: &WorkloadSpec, database: &DatabaseSpec, tools: Tools) -> Self {
        match spec {
            WorkloadSpec::CacheFill(spec) => Self::CacheFill(CacheFill::new(spec, database.read, tools)),
            WorkloadSpec::Inventory(spec) => Self::Inventory(Inventory::new(spec, database.read, tools)),
        }
    }

    /// Does one request from start to end, with the random generator of the worker. It counts the answer; the caller
    /// counts that the request began and ended, and how long it took.
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
                if matches!(&failed, Failed::Store(error) if error.is_loss()) {
                    counter.lost_database(|| failed.to_string());
                }
            }
        }
        Done::Ended
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// With an answer, or with an error.
    Ended,
    /// It was given up while it waited for its lock or simulated some work, because the run must end. It counts as
    /// unfinished.
    Cancelled,
}
