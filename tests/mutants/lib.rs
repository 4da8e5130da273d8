//! The pure half of `lockstorm-lock`, as its package has it.

#[path = "../../src/lock/protocol/mod.rs"]
pub mod protocol;
#[path = "../../src/lock/simulation/mod.rs"]
pub mod simulation;
