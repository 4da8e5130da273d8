//! What every package of Lockstorm may use, and what knows nothing of locks: files that are read with a limit, outputs that
//! never make a writer wait, signals that ask for an end, and sleeps that are exact.
//!
//! It must not know any other package of Lockstorm.
//!
//! # Map
//!
//! - `input`: files that are read: opened without waiting, regular, and no more of them than a limit. `output`: streams
//!   that never make a writer wait, and files that are replaced whole or not at all. `timer`: sleeps that are accurate
//!   to a tenth of a millisecond, with one `timerfd` for each runtime (`alarm`). `signals`: the requests to end, and the end of a stop. `clock`: instants as numbers
//!   that other programs understand
#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

#[cfg(target_os = "linux")]
mod alarm;
mod clock;
pub mod input;
pub mod output;
mod signals;
pub mod timer;

pub use clock::{at_monotonic_us, monotonic_ns};
pub use signals::{Resumed, Stop, Stops, stop_at_once};
