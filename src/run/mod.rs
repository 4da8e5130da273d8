//! One run from scenario to record: commands go down, snapshots come up.

mod command;

pub use command::{Command, Knob};
