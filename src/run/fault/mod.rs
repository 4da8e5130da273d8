//! Faults: the schedule, which says when each is due. Those on hosts are carried out in `lab`, those on app servers in
//! `swarm`.

mod outlook;
mod schedule;

pub use schedule::{Due, Schedule};
