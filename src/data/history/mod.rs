//! What holders of locks did, as plain data.

mod double_hold;
mod holder;

pub use double_hold::{Belief, DoubleHold, LostVote, Ruling};
pub use holder::Holder;
