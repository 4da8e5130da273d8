//! Turns the tree into validated types, with a file for each part of a scenario.

mod arms;
mod blame;
mod condition;
mod expectations;
mod faults;
mod general;
mod nodes;
mod parse;
mod whole;

pub use parse::parse;
