//! What holders of locks did, as plain data.

mod double_hold;
mod event;
mod holder;
mod lines;
mod load;
mod operation;
mod reader;
mod reported;
mod section;
#[cfg(test)]
mod tests;

pub use double_hold::{Belief, BeliefSale, DoubleHold, LostVote, Removal, Ruling};
pub use event::{Event, EventWord};
pub use holder::Holder;
pub use lines::HistoryError;
pub use load::{Load, YEAR};
pub use operation::{Acquire, Answer, Fault, Head, Line, Operation, Release, Sale};
pub use reader::Reader;
pub use reported::{HELD, INSIDE, Reported};
pub use section::{Section, Sections};
