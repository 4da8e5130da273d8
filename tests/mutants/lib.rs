//! The pure half of `lockstorm-lock`, with the same modules as in its package.

#[path = "../../src/lock/protocol/mod.rs"]
pub mod protocol;
#[path = "../../src/lock/simulation/mod.rs"]
pub mod simulation;
