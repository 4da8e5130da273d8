//! One run from scenario to record: commands go down, snapshots come up.
//!
//! [`start`] begins one on a thread of its own, [`headless`] plays one to its end. Below it, from the ground up: [`store`] (the
//! database), [`fault`] (what is due when), [`needs`] (whether this machine is large enough), [`oracle`] (what the books prove),
//! [`workload`] (what workers do inside a lock) and [`swarm`] (app servers and their workers).
//!
//! It knows nothing of terminals, reports or the command line: it shows [`Snapshot`]s, and leaves a [`Record`].
#![warn(missing_docs)]

pub mod fault;
pub mod needs;
pub mod oracle;
pub mod store;
pub mod swarm;
pub mod workload;

mod activity;
mod announce;
mod arm;
mod auditor;
mod availability;
mod clock_watch;
mod cluster_watch;
mod collector;
mod command;
mod curves;
mod disk_watch;
mod doubt;
mod effect;
mod ending;
mod engine;
mod error;
mod events;
mod expect;
mod fault_orders;
mod faults;
mod finish;
mod flaws;
mod handle;
mod headless;
mod knobs;
mod lab_watch;
mod lacking;
mod ladder;
mod live;
mod live_cluster;
mod live_lab;
mod live_swarm;
mod machine;
mod master_watch;
mod masters;
mod meaning;
mod new_master;
mod offsets;
mod options;
mod outlasted;
mod outside;
mod pace;
mod play;
mod preparation;
mod progress_limit;
mod publisher;
mod record;
mod redis_client;
mod snapshot;
mod stage;
mod stall_watch;
mod stuck_keys;
mod takeovers;
mod timing;
mod totals;
mod turned;
mod view;

pub use command::{Command, Knob};
pub use error::RunError;
pub use handle::{RunHandle, start};
pub use headless::{Ended, headless};
pub use lacking::{lacking, lacking_in_short};
pub use ladder::{TTLS, ladder};
pub use lockstorm_data::model::CheckResult;
pub use options::RunOptions;
pub use outlasted::{Outlasted, Part};
pub use record::{ArmRecord, CheckedExpectation, Machine, Record, RoundTripRecord, Timeouts};
pub use redis_client::{connection_info, redis_client};
pub use snapshot::{
    ArmView, Behind, Health, HostView, Knobs, Live, NodeFigures, OldMaster, Phase, ServerView, Snapshot,
};
