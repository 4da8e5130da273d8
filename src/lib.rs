//! Lockstorm: a chaos lab and benchmark suite for distributed locks on Redis.
#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod console;
pub mod report;
