//! Plain data that every layer shares: ids, outcomes, faults, events. It uses only `std`, `serde`, `strum` for lists of
//! variants, and the types of the lock engine.

mod check_result;
mod event;
mod fault;
mod id;
mod outcome;
mod printable;
mod role;
mod setting;

pub use lockstorm_lock::{Cause, CauseKind, Outcome, Wait};

pub use check_result::CheckResult;
pub use event::{Event, EventKind};
pub use fault::{
    Action, Condition, Conditions, Direction, Fault, Finding, How, Link, Observer, Obstacle, Ongoing, Parameters,
    Proof, Seat, Seats, Target, TargetKind, Targets, Verified, Way,
};
pub use id::{HostId, OrderId, ServerId};
pub use outcome::{NoVote, Outcomes};
pub use printable::printable;
pub use role::{ClusterNode, ClusterRole, ReplicationRole};
pub use setting::setting;
