//! The schedule of a run: when each fault is due. Those on hosts are carried out in `lab`, those on app servers in
//! `swarm`.

mod clock;
mod faults_due;
mod outlook;
mod story;

pub use faults_due::{Due, Schedule};
pub use outlook::Next;
