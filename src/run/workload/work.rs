//! The work of an app server and arm, whatever its kind.

use super::cache_fill::CacheFill;
use super::failed::Failed;
use super::inventory::Inventory;
use super::job::Job;
use super::payment::Payment;
use super::tools::Tools;
use crate::store::StoreError;
use lockstorm_data::metrics::{Count, Counter};
use lockstorm_data::scenario::{DatabaseSpec, WorkloadSpec};
use rand::rngs::SmallRng;

/// The work of one app server and arm, shared by its workers.
#[derive(Debug)]
pub enum Workload {
    /// Reads through caches that expire.
    CacheFill(CacheFill),
    /// Sells stock.
    Inventory(Inventory),
    /// Runs jobs.
    Job(Job),
    /// Moves money between accounts.
    Payment(Payment),
}

impl Workload {
    /// The workload of the scenario, for these workers; `None` if it is one that nothing plays.
    pub fn new(spec: &WorkloadSpec, database: &DatabaseSpec, tools: Tools) -> Option<Self> {
        Some(match spec {
            WorkloadSpec::CacheFill(spec) => Self::CacheFill(CacheFill::new(spec, database.read, tools)),
            WorkloadSpec::Inventory(spec) => Self::Inventory(Inventory::new(spec, database.read, tools)),
            WorkloadSpec::Job(spec) => Self::Job(Job::new(spec.clone(), database.read, tools)),
            WorkloadSpec::Payment(spec) => Self::Payment(Payment::new(spec.clone(), database.read, tools)),
            WorkloadSpec::Reported(_) => return None,
        })
    }

    /// Does request `number` of an open loop, or any of a closed one, from start to end, with the random generator of the worker. It counts what was done; the caller
    /// counts that the request began, how it ended, and how long it took.
    pub async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng, worker: usize, number: u64) -> Done {
        let (tools, answer) = match self {
            Self::CacheFill(work) => (&work.tools, work.request(counter, rng, worker).await),
            Self::Inventory(work) => (&work.tools, work.request(counter, rng, worker).await),
            Self::Job(work) => (&work.tools, work.request(counter, rng, worker, number).await),
            Self::Payment(work) => (&work.tools, work.request(counter, rng, worker).await),
        };
        let failure = match answer {
            Ok(()) => None,
            Err(Failed::Cancelled) => return Done::Cancelled,
            Err(Failed::Refused) => Some(Count::GaveUp),
            Err(Failed::Lost) => Some(Count::Aborted),
            Err(Failed::Store(StoreError::Fenced { .. })) => Some(Count::Fenced),
            Err(failed) => {
                tracing::debug!(arm = tools.arm.name, server = %tools.server, worker, "{failed}");
                counter.saw_error(|| failed.to_string());
                if matches!(&failed, Failed::Store(error) if error.is_loss()) {
                    counter.lost_database(|| failed.to_string());
                }
                Some(Count::Errors)
            }
        };
        Done::Ended(failure)
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// With an answer, or as what it counts if it got none.
    Ended(Option<Count>),
    /// It was given up while it waited for its lock or simulated some work, because the run must end. It counts as
    /// unfinished.
    Cancelled,
}
