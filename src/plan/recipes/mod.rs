//! Recipes for two holders of one lock: the shortest schedules of faults after which two clients are in their sections at the
//! same time, found by playing schedules in the lock engine's virtual world.
//!
//! [`search()`] plays schedules with more and more faults, by the protocol that ships. [`Described`] says a recipe in words, with a
//! scenario file that plays it on real nodes, if they can be made to.

mod described;
mod fault;
mod law;
mod play;
mod recipe;
mod scenario;
mod schedule;
mod search;
mod steps;

pub use described::Described;
pub use fault::{ClientFault, NodeFault};
pub use law::{needed_losses, spare_nodes};
pub use play::{DoubleHold, play};
pub use recipe::{Kind, Recipe};
pub use schedule::Schedule;
pub use search::search;
