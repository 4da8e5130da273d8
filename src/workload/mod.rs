//! What workers do: read through caches that expire, or sell stock. One request at a time, counted in the recorder of their
//! app server and arm.

mod cache;
mod cache_fill;
mod chance;
mod failed;
mod filler;
mod inventory;
mod list;
mod live_settings;
mod object;
mod section;
mod tools;
mod waiting;

use rand::rngs::SmallRng;

pub use cache::{CACHE_CONNECT_TIMEOUT, CACHE_REPLY_TIMEOUT, Cache, CacheError, connect_cache};
pub use cache_fill::CacheFill;
pub use inventory::{Inventory, batches, orders_in_cache, prepare_cache, stock_in_cache, stock_sold_in_cache};
pub use live_settings::LiveSettings;
pub use tools::Tools;
pub use waiting::Waiting;

use failed::Failed;

use crate::metrics::{Count, Counter};
use crate::scenario::{DatabaseSpec, WorkloadSpec};
use crate::store::StoreError;

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
            WorkloadSpec::CacheFill(spec) => Self::CacheFill(CacheFill::new(spec, database.read, tools)),
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
