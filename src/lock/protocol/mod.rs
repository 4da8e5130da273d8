//! All decisions of the lock, without a clock, socket or task.
//!
//! The protocol is given answers and the time, and returns effects; its driver sends the commands, sets the timers and wakes
//! the callers. The lock engine drives it with tokio, the simulation with clocks of its own. It uses `std` and nothing else.
//!
//! - [`Attempt`] is one attempt at a lock on a quorum of nodes: votes, validity, extension, and the keys to take back.
//! - [`Caller`] is one caller of acquire: its turn in line, its attempts, and what it is told.
//! - [`Lease`] and [`Renewal`] work above one attempt: loss, and renewal times.
//! - [`Mailbox`] and [`Pipeline`] carry the commands of one app server to a node and their answers back; [`Link`], suspicion
//!   and the window say whether, and how much of it, the node can be asked.
//! - [`Lines`] and [`Announcements`] order the waiters, within an app server and among app servers.
//!
//! The algorithm is Redlock (<https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>), with all nodes
//! asked at once.

mod announcements;
mod answer;
mod attempt;
mod caller;
mod draw;
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

pub use announcements::{Announcements, WaitAnnouncement};
pub use answer::{Answer, Command};
pub use attempt::{Attempt, Decision, Effect, Released, Rules, Vote, Waiting};
pub use caller::{Caller, Failed, Step};
#[cfg(feature = "simulation")]
pub use draw::draw;
pub use extension::Extension;
pub use lease::Lease;
pub use line::Lines;
pub use link::{Link, Obstacle};
pub use mailbox::{Letter, Mailbox, Pipeline};
pub use node_set::NodeSet;
pub use per_node::PerNode;
pub use quorum::{MAX_NODES, quorum, validity};
pub use renewal::{Due, Renewal};
pub use time::Time;
pub use wait::Wait;
pub use window::WINDOW;
