//! Faults of clocks.

pub(crate) mod host_clock;
mod shown_time;
