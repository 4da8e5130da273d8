//! The plain data that all packages of Lockstorm pass to each other: what can break and what happened ([`model`]), what was
//! measured ([`metrics`]), and the file that describes a run ([`scenario`]).
//!
//! It knows nothing of runtimes, servers or databases: neither tokio nor redis nor sqlx is used here. Everything is read,
//! checked, computed and written as text or JSON.
#![warn(missing_docs)]

pub mod metrics;
pub mod model;
pub mod scenario;
