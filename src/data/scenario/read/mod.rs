//! Turns the tree into validated types, with a file for each part of a scenario.

mod arms;
mod comparison;
mod database;
mod faults;
mod lab;
mod nodes;
mod secret;
mod swarm;
mod whole;

pub(super) use faults::STARTS;
pub use whole::parse;
