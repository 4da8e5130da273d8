//! A virtual world in which the [protocol](crate::protocol) of the lock is played and looked after: nodes, app servers, callers,
//! messages, clocks and faults, in a time of its own. One seed, one course of events.
//!
//! The world decides nothing about locks. Everything that a lock decides is the shipped protocol, the same code that the lock
//! engine drives with tokio; the world carries commands and answers in order, sets timers, and is the nodes.
//!
//! ```
//! use lockstorm_lock::simulation::{Settings, World};
//!
//! let mut world = World::new(Settings::drawn(1), 1).unwrap();
//! let report = world.play();
//! assert!(report.violations.is_empty());
//! ```
//!
//! [`Check`] says what is looked after: above all, that no two believe to hold a lock at a time.
//!
//! No stability is promised: this is for tests, and for planning TTLs.

mod acquire;
mod app_server;
mod belief;
mod checks;
mod claims;
mod client;
mod clock;
mod connection;
mod event;
mod fault;
mod feed;
mod finish;
mod holding;
mod lane;
mod lifecycle;
mod news;
mod node;
mod random;
mod report;
mod scenario;
mod scheduling;
mod server;
mod settings;
mod units;
mod waiting;
mod worker;
mod world;

pub use report::{Attempts, Check, Commands, FaultCounts, Report, Violation};
pub use settings::{AcquireSettings, Delay, Faults, Settings, Span, Unfit, Weights};
pub use world::World;
