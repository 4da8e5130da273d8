//! The workloads. Each is a folder: its settings in `[workload]`, their reading and writing, and everything that the rest
//! of the program asks of a workload (`kind::WorkloadKind`); `shown` is what is shown of it, `warnings` what its author
//! should know.

pub(super) mod cache_fill;
pub(super) mod inventory;
pub(super) mod job;
mod kind;
pub(super) mod payment;
mod reported;
mod spec;

pub use cache_fill::{CacheFillSpec, CacheSpec};
pub use inventory::InventorySpec;
pub use job::JobSpec;
pub use kind::{Catalogue, Initial, Ledger, StockIn};
pub use payment::PaymentSpec;
pub use reported::ReportedSpec;
pub use spec::{WorkloadName, WorkloadSpec};
pub(super) use spec::{read, write};
