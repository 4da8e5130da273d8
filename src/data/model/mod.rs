//! Plain data that every layer shares: ids, outcomes, faults, events. It uses only `std`, `serde`, `strum` for lists of
//! variants, and the types of the lock engine.

mod check_result;
mod fault;
mod id;
pub mod in_us;
mod outcome;
mod printable;
mod role;
mod setting;
mod wait;

pub use lockstorm_lock::{Cause, CauseKind, Outcome, Wait};

pub use check_result::CheckResult;
pub use fault::{
    Action, Condition, Conditions, Direction, Fault, Finding, How, Lack, Link, Observer, Obstacle, Ongoing, Parameters,
    Proof, SHORTEST_LAG, Seat, Seats, Skew, Target, TargetKind, Targets, Verified, Way,
};
pub use id::{HostId, OrderId, ServerId};
pub(crate) use outcome::is_zero;
pub use outcome::{NoVote, Outcomes};
pub use printable::printable;
pub use role::{ClusterNode, ClusterRole, ReplicationRole};
pub use setting::setting;
pub(crate) use wait::WaitInUs;
