//! What app servers are made from, and what the run can see of them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use tokio::sync::watch;

use super::intake::Intake;
use crate::store::ArmDatabase;
use crate::under_test::OtherLocks;
use crate::workload::{HeldLocks, Hurry, LiveSettings, Stalls, UnderWay};
use lockstorm_data::metrics::{Recorder, RoundTrips};
use lockstorm_data::model::{HostId, ServerId};
use lockstorm_data::scenario::{ArmSpec, Scenario};
use lockstorm_lock::{Gauges, NodeAddress};

/// What an app server is made from.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Its id.
    pub id: ServerId,
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// Where the lock node of each host is, in the order in which round trips are counted.
    pub nodes: Vec<(HostId, watch::Receiver<NodeAddress>)>,
    /// What the keys of all locks begin with.
    pub key_prefix: Arc<str>,
    /// The Sentinels of the replicated nodes, and the first master, if there are any.
    pub replicated: Option<(Vec<NodeAddress>, NodeAddress)>,
    /// The nodes of the cluster, if there is one: those that began as masters, and those that began as replicas.
    pub cluster: Option<[Vec<NodeAddress>; 2]>,
    /// The cache node.
    pub cache: NodeAddress,
    /// The settings that can change during a run.
    pub live_settings: Arc<LiveSettings>,
    /// Gives up waiting acquires, or simulated work too.
    pub hurry: Hurry,
    /// The arms.
    pub arms: Vec<ArmPlan>,
    /// Notes how long its thread stands still although nobody pauses it.
    pub stalls: Arc<Stalls>,
    /// Counts how long the lock nodes take to answer.
    pub round_trips: Arc<RoundTrips>,
    /// Whether a history is written.
    pub history: bool,
}

/// One arm's part of a server plan.
#[derive(Debug, Clone)]
pub struct ArmPlan {
    /// The arm.
    pub spec: Arc<ArmSpec>,
    /// Its tables.
    pub database: Arc<ArmDatabase>,
    /// Counts what this app server does for the arm.
    pub recorder: Arc<Recorder>,
    /// What makes its lock, if that is not the scenario's.
    pub other: Option<Arc<dyn OtherLocks>>,
    /// The source of its workers' requests.
    pub intake: Intake,
}

/// What the run can see of one arm on one app server.
#[derive(Debug, Clone)]
pub(super) struct ArmState {
    /// The gauges of its lock: one for requests of the warm-up, one for measured requests.
    pub gauges: [Arc<Gauges>; 2],
    /// Whether its lock is not the engine's, so that the gauges say nothing.
    pub is_other: bool,
    pub active: Arc<AtomicUsize>,
    pub waiting: Arc<UnderWay<Instant>>,
    pub held_locks: Arc<HeldLocks>,
}
