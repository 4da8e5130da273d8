//! Faults as data: which actions there are for which target, when they make sense, what they cause and what undoes them.
//! The reader of scenarios, the console, the lab, the run and the app servers all use this.

mod action;
mod condition;
mod conditions;
mod how;
mod kind;
mod lack;
mod obstacle;
mod proof;
mod rows;
mod skew;
mod target;
mod way;

pub use action::Action;
pub use condition::Condition;
pub use conditions::{Conditions, Ongoing};
pub use how::How;
pub use kind::{Fault, Parameters, SHORTEST_LAG};
pub use lack::Lack;
pub use obstacle::Obstacle;
pub use proof::{Finding, Observer, Proof, Verified};
pub use skew::Skew;
pub use target::{Link, Seat, Seats, Target, TargetKind, Targets};
pub use way::{Direction, Way};
