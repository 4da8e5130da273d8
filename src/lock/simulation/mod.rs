//! A virtual world that runs and checks the lock's [protocol](crate::protocol): nodes, app servers, callers, messages,
//! clocks and faults, in virtual time. The same seed gives the same course of events.
//!
//! The world decides nothing about locks: all decisions are made by the shipped protocol, the same code that the lock engine
//! drives with tokio. The world carries commands and answers in order, sets timers, and plays the nodes.
//!
//! ```
//! use lockstorm_lock::simulation::{Settings, World};
//!
//! let mut world = World::new(Settings::drawn(1), 1).unwrap();
//! let report = world.play();
//! assert!(report.violations.is_empty());
//! ```
//!
//! [`Check`] lists the laws that are checked: above all, that no two holders believe that they hold a lock at the same time.
//!
//! The API promises no stability: it is for tests, and for planning TTLs.

mod acquire;
mod app_server;
mod belief;
mod checks;
mod claims;
mod client;
mod clock;
mod connection;
mod draw;
mod event;
mod fault;
mod finish;
mod holding;
mod lane;
mod lifecycle;
mod node;
mod order;
mod ordering;
mod pubsub;
mod random;
mod report;
mod samples;
mod scenario;
mod scheduling;
mod section;
mod server;
mod settings;
mod socket;
mod span;
mod units;
mod waiting;
mod worker;
mod world;

pub use draw::{Draw, Quantiles};
pub use order::Order;
pub use report::{Attempts, Check, Commands, FaultCounts, Report, Violation};
pub use samples::Samples;
pub use section::Section;
pub use settings::{AcquireSettings, Delay, Faults, Freezes, InvalidSettings, Settings, Weights};
pub use span::Span;
pub use world::World;
