//! Faults as data: which actions there are for which target, when they make sense, what they cause and what undoes them.
//! The reader of scenarios, the console, the lab, the run and the app servers all use this.

mod action;
mod condition;
mod conditions;
mod how;
mod kind;
mod obstacle;
mod proof;
mod skew;
mod target;

pub use action::Action;
pub use condition::Condition;
pub use conditions::{Conditions, Ongoing};
pub use how::{Direction, How, Way};
pub use kind::{Fault, Parameters, SHORTEST_LAG};
pub use obstacle::{Lack, Obstacle};
pub use proof::{Finding, Observer, Proof, Verified};
pub use skew::Skew;
pub use target::{Link, Seat, Seats, Target, TargetKind, Targets};
