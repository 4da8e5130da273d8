//! What the library does that servers are started with for faults of clocks and power.

pub(crate) mod control;
mod shown_time;
pub(crate) mod synced;
