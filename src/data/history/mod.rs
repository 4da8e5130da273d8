//! What holders of locks did, as plain data.

mod double_hold;
mod holder;
mod operation;
mod reader;
mod section;
#[cfg(test)]
mod tests;

pub use double_hold::{Belief, BeliefSale, DoubleHold, LostVote, Ruling};
pub use holder::Holder;
pub use operation::{Acquire, Answer, Fault, Head, Line, Operation, Release, Sale};
pub use reader::{HistoryError, Reader};
pub use section::{Section, Sections};
