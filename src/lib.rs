//! Lockstorm: a chaos lab and benchmark suite for distributed locks on Redis.
//!
//! Modules depend only downward, in the order of this list (`tests/products/layers.rs` holds it):
//! `console` and `report` see plain data, `run` drives everything, `model` knows nothing but `std`, `serde` and
//! the lock engine's words.
#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod bench;
pub mod console;
pub mod doctor;
pub mod fault;
pub mod input;
pub mod kept;
pub mod lab;
pub mod metrics;
pub mod model;
pub mod needs;
pub mod oracle;
pub mod output;
pub mod plan;
pub mod recipes;
pub mod report;
pub mod run;
pub mod scenario;
pub mod store;
pub mod swarm;
pub mod sweep;
pub mod timer;
pub mod validation;
pub mod workload;

/// The lock engine, a package of its own.
pub use lockstorm_lock as lock;
