//! What a scenario will need of this machine: files, threads, memory, disk. This is checked before anything is started.
//!
//! [`of`] estimates and is pure; [`Machine::look`] reads what is available; [`compare`] compares the two. The numbers
//! behind the estimates were measured, and are in one table, `cost`.

mod cost;
mod estimate;
mod machine;
mod room;

pub use estimate::{Amount, Needs, of};
pub(crate) use machine::memory;
pub use machine::{Machine, free_disk, raise, raise_files};
pub use room::{Lack, Resource, Room, compare};
