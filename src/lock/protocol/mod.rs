//! What the lock decides, without clock, socket or task.
//!
//! Answers and the time come in, small effects go out; whoever drives it sends the commands, sets the timers and wakes the
//! callers. The lock engine drives it with tokio, the simulation with clocks of its own. It uses `std` and nothing else.
//!
//! - [`Attempt`] is one attempt at a lock of a quorum of nodes: votes, validity, extension, and what is taken back.
//! - [`Lease`], [`Renewal`] and [`Acquire`] work above one attempt: loss, renewal times, and when to try again. They know no
//!   nodes, so they serve any kind of lock.
//! - [`Link`] and [`Suspicion`] are a node as one app server sees it.
//! - [`Line`] and [`Announcements`] are those who wait: of one app server, and among app servers.
//!
//! The algorithm is Redlock (<https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>), with all nodes
//! asked at once.

mod acquire;
mod announcements;
mod answer;
mod attempt;
mod extension;
mod lease;
mod line;
mod link;
mod node_set;
mod per_node;
mod quorum;
mod renewal;
mod time;
mod wait;

#[cfg(feature = "simulation")]
pub use acquire::draw;
pub use acquire::{Acquire, Next, free_after};
pub use announcements::{Announcements, Waited};
pub use answer::{Answer, Command};
pub use attempt::{Attempt, Decision, Effect, Released, Rules, Vote, Waiting};
pub use extension::Extension;
pub use lease::Lease;
pub use line::Line;
pub use link::{Link, Obstacle, Suspicion, WINDOW};
pub use node_set::NodeSet;
pub use per_node::PerNode;
pub use quorum::{MAX_NODES, quorum, valid_until, validity};
pub use renewal::{Due, Renewal};
pub use time::Time;
pub use wait::Wait;
