//! Broken locks, and whether the oracles of a run catch them: an oracle that has never found anything proves nothing.
//!
//! # Map
//!
//! - `flaw`: the table of what is wrong with locks, each with the layer that must catch it and how often
//! - `trigger`: the scenarios that expose them (`triggers/`), each with the arms of its flaws
//! - `broken`: a simple lock on the redis crate, right but for its flaw; `node` is its connection to a node
//! - `liar`: a server that lies to a lock that is right; `maker` makes each of them for an arm
//! - `play`: plays the scenarios by the one engine of runs; `verdict` judges what its records say
//!
//! # Rules, and why
//!
//! - **Every flaw is a condition in the same lock.** So what is caught is the flaw.
//! - **The same trigger must leave the right ones alone.** With each flaw play the engine's lock, which must break no law, and one
//!   mutex that all app servers share, which must score nothing in any layer.
//! - **Sized, not lucky.** A trigger hits tens of locks, and what is needed is a third of what is expected at most.
#![warn(missing_docs)]

mod broken;
mod flaw;
mod liar;
mod maker;
mod node;
mod play;
mod trigger;
mod verdict;

pub use flaw::{Flaw, Layer, names};
pub use play::selftest;
pub use verdict::{Row, SelfTest};
