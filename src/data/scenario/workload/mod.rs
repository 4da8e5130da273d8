//! The workloads. Each is a folder: its settings in `[workload]`, their reading and writing, and everything that the rest
//! of the program asks of a workload (`kind::WorkloadKind`); `shown` is what is shown of it.

mod cache_fill;
mod display;
mod inventory;
mod kind;
mod spec;

pub use cache_fill::{CacheFillSpec, CacheSpec};
pub use inventory::InventorySpec;
pub(super) use kind::Surroundings;
pub use kind::{Catalogue, Initial, Ledger, StockIn};
pub use spec::{WorkloadName, WorkloadSpec};
pub(super) use spec::{read, write};
