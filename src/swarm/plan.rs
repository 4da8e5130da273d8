//! What app servers are made from, and what they show of themselves.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::intake::Intake;
use super::load::Load;
use crate::lock::{Gauges, NodeAddress};
use crate::metrics::{Recorder, RoundTrips};
use crate::model::{HostId, ServerId};
use crate::scenario::{ArmSpec, DatabaseSpec, WorkloadSpec};
use crate::store::ArmDatabase;
use crate::workload::{LiveSettings, Waiting};

/// What an app server is made of.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Which one it is.
    pub id: ServerId,
    /// Workers for each arm.
    pub workers: usize,
    /// How many app servers there are; workers start over the ramp in turn.
    pub servers: usize,
    /// The time over which the workers start.
    pub ramp: Duration,
    /// The lock node of each host, in the order in which it counts round trips.
    pub nodes: Vec<(HostId, NodeAddress)>,
    /// The cache node.
    pub cache: NodeAddress,
    /// What the workers do.
    pub workload: Arc<WorkloadSpec>,
    /// The database.
    pub database: Arc<DatabaseSpec>,
    /// The live knobs.
    pub live_settings: Arc<LiveSettings>,
    /// The scenario's seed.
    pub seed: u64,
    /// When this is cancelled, acquires that wait are given up, and so is work that only lets simulated time pass.
    pub hurry: CancellationToken,
    /// The arms.
    pub arms: Vec<ArmPlan>,
    /// Where it counts how long the lock nodes take to answer.
    pub round_trips: Arc<RoundTrips>,
}

/// One arm's part of it.
#[derive(Debug, Clone)]
pub struct ArmPlan {
    /// The arm.
    pub spec: Arc<ArmSpec>,
    /// Its tables.
    pub database: Arc<ArmDatabase>,
    /// Where this app server counts.
    pub recorder: Arc<Recorder>,
    /// Where its workers get their requests from.
    pub(super) intake: Arc<Intake>,
}

impl ArmPlan {
    /// The part of app server `server` in arm `arm` of the load; both count from 0.
    #[must_use]
    pub fn new(
        spec: Arc<ArmSpec>,
        database: Arc<ArmDatabase>,
        recorder: Arc<Recorder>,
        load: &Load,
        [server, arm]: [usize; 2],
    ) -> Self {
        Self {
            spec,
            database,
            recorder,
            intake: load.intake(server, arm),
        }
    }
}

/// What the run can see of one arm on one app server.
#[derive(Debug, Clone)]
pub(super) struct ArmState {
    /// Of its lock, for requests of the warm-up and for measured ones.
    pub gauges: [Arc<Gauges>; 2],
    pub active: Arc<AtomicUsize>,
    pub waiting: Arc<Waiting>,
}
