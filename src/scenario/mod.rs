//! Scenarios: the TOML model, its validation, overrides, and the built-in ones.

mod condition;
mod metric;
mod spec;

pub use condition::{Condition, Expectation, Op};
pub use metric::{Metric, Unit};
pub use spec::{
    ArmSpec, CacheSpec, DatabaseSpec, FaultSpec, FaultStart, InventorySpec, LabSpec, LockKind, OnLoss, Persistence,
    Popularity, Renew, Scenario, ServiceTime, StockIn, SwarmSpec, Update, WorkloadSpec,
};
