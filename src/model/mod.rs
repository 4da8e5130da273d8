//! Plain data that every layer shares: ids, outcomes, faults, events. `std` and `serde` only.

mod event;
mod fault;
mod held;
mod id;
mod outcome;
mod printable;
mod wait;

pub use event::{Event, EventKind};
pub use fault::{Action, Target};
pub use held::Held;
pub use id::{HostId, ServerId};
pub use outcome::{Cause, Outcome, Outcomes};
pub use printable::printable;
pub use wait::Wait;
