//! Scenarios: the TOML model, its validation, overrides, and the built-in ones.
//!
//! [`Source::open`] finds a scenario, [`parse`] reads it. Unknown keys, unknown names, impossible values and
//! contradictions are errors that name file, line, key and the nearest right spelling; all of them are found at once.
//! Durations are text with a unit (`"500us"`, `"5ms"`, `"2s"`, `"1m"`).
//!
#![doc = include_str!("keys.md")]

mod about;
mod applicable;
mod belonging;
pub mod builtin;
mod client_arm;
mod database_url;
mod error;
mod expectation;
mod forms;
mod keys;
mod lock;
mod node_url;
mod overrides;
mod read;
mod reader;
mod schema;
mod source;
mod spec;
mod suggest;
mod tree;
mod turns;
mod value;
mod warnings;
mod whole;
mod words;
mod workload;
mod write;
mod writer;

pub use database_url::DatabaseUrl;
pub use error::{ScenarioError, ScenarioErrors};
pub use expectation::{Expectation, Op, Trigger};
pub use keys::{Form, Key, keys, tables};
pub use lock::{Follow, LockKind, LockNodes, Topology, Voter};
pub use node_url::NodeUrl;
pub use overrides::Overrides;
pub use read::parse;
pub use schema::schema;
pub use source::Source;
pub use spec::{
    AccountLocks, ArmSpec, Arrivals, Balance, ClusterSpec, DatabaseSpec, FaultSpec, FaultStart, Fence, GivenNodes,
    LabSpec, OnLoss, OnOutage, Password, Persistence, Popularity, Release, Renew, ReplicatedSpec, ServiceTime,
    SwarmSpec, Update,
};
pub use suggest::{hint, meant};
pub use turns::Turns;
pub use value::{parse_clock_rate, parse_shift};
pub use warnings::warnings;
pub use whole::Scenario;
pub use words::Words;
pub use workload::{
    CacheFillSpec, CacheSpec, Catalogue, Initial, InventorySpec, JobSpec, Ledger, PaymentSpec, ReportedSpec, StockIn,
    WorkloadSpec,
};
