//! Plain data that every layer shares: ids, outcomes, faults, events. `std` and `serde` only, and the words of the
//! lock engine.

mod event;
mod fault;
mod held;
mod id;
mod outcome;
mod printable;

pub use lockstorm_lock::{Cause, Outcome, Wait};

pub use event::{Event, EventKind};
pub use fault::{Action, Target};
pub use held::Held;
pub use id::{HostId, ServerId};
pub use outcome::Outcomes;
pub use printable::printable;
