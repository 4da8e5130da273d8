//! Lockstorm: a chaos lab and benchmark suite for distributed locks on Redis.
//!
//! Modules depend only downward, in the order of this list (`tests/products/layers.rs` holds it):
//! `console` and `report` see plain data, `run` drives everything, `model` knows nothing but `std`, `serde` and
//! the lock engine's words.
#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

#[path = "bench/lib.rs"]
pub mod bench;
pub mod console;
#[path = "lab/doctor/mod.rs"]
pub mod doctor;
#[path = "run/fault/mod.rs"]
pub mod fault;
#[path = "base/input.rs"]
pub mod input;
#[path = "lab/kept/mod.rs"]
pub mod kept;
#[path = "lab/lib.rs"]
pub mod lab;
#[path = "data/metrics/mod.rs"]
pub mod metrics;
#[path = "data/model/mod.rs"]
pub mod model;
#[path = "run/needs/mod.rs"]
pub mod needs;
#[path = "run/oracle/mod.rs"]
pub mod oracle;
#[path = "base/output/mod.rs"]
pub mod output;
#[path = "plan/lib.rs"]
pub mod plan;
#[path = "plan/recipes/mod.rs"]
pub mod recipes;
pub mod report;
#[path = "run/lib.rs"]
pub mod run;
#[path = "data/scenario/mod.rs"]
pub mod scenario;
#[path = "run/store/mod.rs"]
pub mod store;
#[path = "run/swarm/mod.rs"]
pub mod swarm;
#[path = "plan/sweep/mod.rs"]
pub mod sweep;
#[path = "base/timer.rs"]
pub mod timer;
#[path = "plan/validation/mod.rs"]
pub mod validation;
#[path = "run/workload/mod.rs"]
pub mod workload;

/// The lock engine, a package of its own.
pub use lockstorm_lock as lock;
