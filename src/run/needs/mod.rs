//! What a scenario will need of this machine: files, threads, memory, disk. This is checked before anything is started.
//!
//! [`of`] estimates and is pure; [`Machine::look`] reads what is available; [`compare`] compares the two. The numbers
//! behind the estimates were measured, and are in one table, `cost`.

mod cost;
mod counts;
mod estimate;
mod files;
mod limit;
mod machine;
mod memory;
mod orders;
mod room;
mod threads;

pub use estimate::{Amount, Needs, of};
pub use limit::raise;
pub use machine::{Machine, free_disk};
pub use room::{Room, compare};
