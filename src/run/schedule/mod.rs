//! The schedule of a run: when each fault is due. Those on hosts are carried out in `lab`, those on app servers in
//! `swarm`.

mod faults_due;
mod outlook;

pub use faults_due::{Due, Schedule};
