//! Hosts and their nodes: real Redis or Valkey servers, as processes on loopback or as containers, broken and restored on
//! demand. Nothing that the lab starts outlives the process that owns it, no matter how that ends; see [`keeper`].
//!
//! A [`Lab`] goes up from a [`LabSpec`](lockstorm_data::scenario::LabSpec) and does
//! [`Action`](lockstorm_data::model::Action)s, each with proof of its effect. [`kept`] keeps a lab for other programs, [`doctor`]
//! says whether servers that somebody else runs are fit for locks, and [`leftovers`] removes what a crash has left.
//!
//! It knows nothing of workers, locks under test, or runs: whoever has a lab uses the addresses of its nodes. The lab's owner
//! names the program that becomes the keeper; `lockstorm-keeper` is one.
#![warn(missing_docs)]

mod actions;
mod awaited;
mod base_dir;
mod binary;
mod client;
mod cluster;
mod containers;
#[cfg(feature = "docker")]
mod docker;
#[cfg(not(feature = "docker"))]
#[path = "no_docker.rs"]
mod docker;
pub mod doctor;
mod emit;
mod error;
mod failover;
mod gauge;
mod install;
pub mod keeper;
pub mod kept;
mod lab;
mod layout;
pub mod leftovers;
mod link_states;
mod links;
mod node;
mod node_name;
mod nodes;
mod opened_run;
mod own_file;
mod password;
mod ports;
mod probe;
mod probe_keys;
mod processes;
mod programs;
mod protocol;
mod proxy;
mod readiness;
mod replication;
mod run_dir;
mod running;
mod sessions;
mod settings;
mod site;
mod source;
mod stack;
mod start_lock;
mod state;
mod stats;
mod unseen;
mod version;

pub use self::base_dir::check_temp_dir;
pub use self::binary::ServerBinary;
pub use self::containers::Containers;
pub use self::docker::stack_has_sentinels;
pub use self::error::LabError;
pub use self::lab::{Lab, LabOptions};
pub use self::node_name::{NodeName, Role};
pub use self::opened_run::OpenedRun;
pub use self::probe_keys::Kept;
pub use self::replication::MASTER_NAME;
pub use self::run_dir::RunDir;
pub use self::running::Running;
pub use self::settings::{NodeSettings, TlsFiles};
pub use self::start_lock::StartLock;
pub use self::state::{HostState, is_back};
pub use self::stats::NodeStats;
pub use self::version::{Flavour, Version};
