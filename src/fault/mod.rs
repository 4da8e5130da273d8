//! Faults: the schedule that says when which one is due. Hosts carry theirs out in `lab`, app servers in `swarm`.

mod outlook;
mod schedule;

pub use schedule::{Due, Schedule};
