//! The pure half of `lockstorm-lock`, with the same modules as in its package.

#[path = "../../protocol/mod.rs"]
pub mod protocol;
#[path = "../../simulation/mod.rs"]
pub mod simulation;
