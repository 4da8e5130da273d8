//! All decisions of the lock, without a clock, socket or task.
//!
//! The protocol is given answers and the time, and returns effects; its driver sends the commands, sets the timers and wakes
//! the callers. The lock engine drives it with tokio, the simulation with clocks of its own. It uses `std` and nothing else.
//!
//! - [`Attempt`] is one attempt at a lock on a quorum of nodes: votes, validity, extension, and the keys to take back.
//! - [`Lease`], [`Renewal`] and [`Acquire`] work above one attempt: loss, renewal times, and when to try again. They know
//!   nothing of nodes, so they serve any kind of lock.
//! - [`Mailbox`] and [`Pipeline`] carry the commands of one app server to a node and their answers back; [`Link`], [`Suspicion`]
//!   and the window say whether, and how much of it, the node can be asked.
//! - [`Line`] and [`Announcements`] order the waiters, within an app server and among app servers.
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
mod mailbox;
mod node_set;
mod per_node;
mod quorum;
mod renewal;
mod time;
mod wait;
mod window;

#[cfg(feature = "simulation")]
pub use acquire::draw;
pub use acquire::{Acquire, Next, free_after};
pub use announcements::{Announcements, WaitAnnouncement};
pub use answer::{Answer, Command};
pub use attempt::{Attempt, Decision, Effect, Released, Rules, Vote, Waiting};
pub use extension::Extension;
pub use lease::Lease;
pub use line::Line;
pub use link::{Link, Obstacle, Suspicion};
pub use mailbox::{Letter, Mailbox, Pipeline};
pub use node_set::NodeSet;
pub use per_node::PerNode;
pub use quorum::{MAX_NODES, quorum, validity};
pub use renewal::{Due, Renewal};
pub use time::Time;
pub use wait::Wait;
pub use window::WINDOW;
