//! A whole scenario, validated.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expectation::Expectation;
use super::lock::LockKind;
use super::spec::{ArmSpec, DatabaseSpec, FaultSpec, LabSpec, SwarmSpec};
use super::workload::WorkloadSpec;
use crate::model::{Action, Lack, TargetKind, in_us};

/// A whole scenario, validated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// The name of the file without its extension.
    pub name: String,
    /// A title of one line.
    pub title: String,
    /// What the comment at the head of its file says, a paragraph a line. Nothing writes it down: it may quote a password.
    #[serde(skip)]
    pub about: String,
    /// What a viewer should look at until a fault has a caption of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// What to use, and what not, if everything came as predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// What to look at during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_at: Option<String>,
    /// The keys to try, and what they do.
    #[serde(rename = "try", default, skip_serializing_if = "Option::is_none")]
    pub to_try: Option<String>,
    /// The measured part of the run; with `swarm.requests`, the longest it may take.
    #[serde(rename = "duration_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Load before the measured part, which does not count.
    #[serde(rename = "warmup_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub warmup: Duration,
    /// How long work under a lock may go on after the load has ended, before it is cut off; `None`: until it ends.
    #[serde(
        rename = "drain_us",
        with = "in_us",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub drain: Option<Duration>,
    /// The seed that every random choice comes from.
    pub seed: u64,
    /// The hosts.
    pub lab: LabSpec,
    /// The load.
    pub swarm: SwarmSpec,
    /// The work of the workers.
    pub workload: WorkloadSpec,
    /// The database behind the workload.
    pub database: DatabaseSpec,
    /// The lock strategies under test; at least one, names unique.
    pub arms: Vec<ArmSpec>,
    /// The faults, in the order of the file (`fault:1` is the first).
    pub faults: Vec<FaultSpec>,
    /// The expectations.
    pub expect: Vec<Expectation>,
}

impl Scenario {
    /// The number of database connections that a run opens at most: the pools of all app servers and arms, for each arm one that reads its
    /// books and one that locks its schema, and if its locks are sessions, one for each worker.
    pub fn connections(&self) -> u64 {
        let (servers, arms) = (self.swarm.servers as u64, self.arms.len() as u64);
        let are_sessions = self.arms.iter().filter(|arm| arm.lock == LockKind::Postgres);
        let sessions = are_sessions.count() as u64 * servers * self.swarm.workers as u64;
        servers * arms * u64::from(self.database.pool) + 2 * arms + sessions
    }

    /// The shortest and the longest TTL of the arms that use lock nodes; `None` without such arms.
    pub fn ttls(&self) -> Option<[Duration; 2]> {
        let ttls = || self.arms.iter().filter(|arm| arm.lock.uses_nodes()).map(|arm| arm.ttl);
        Some([ttls().min()?, ttls().max()?])
    }

    /// Whether a scheduled fault is to test the lock of this arm. One on the programs of clients does so only if they are the arm's.
    pub fn is_to_test(&self, arm: &ArmSpec) -> bool {
        let meets = |fault: &&FaultSpec| {
            let is_of_clients = fault.targets.kind() == Some(TargetKind::Client);
            matches!(fault.action, Action::Fault(_)) && (!is_of_clients || arm.lock == LockKind::Client)
        };
        arm.lock.is_on_hosts() && self.faults.iter().any(|fault| meets(&fault))
    }

    /// Whether one of its faults is on connections of single app servers, which then need ways of their own to the hosts.
    pub fn has_routes(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| fault.targets.kind() == Some(TargetKind::Route))
    }

    /// Whether one of its faults needs this, which a lab may lack.
    pub fn needs(&self, lack: Lack) -> bool {
        self.faults.iter().any(|fault| fault.needs(lack))
    }

    /// Who else can read the passwords of its database and its nodes, and how to prevent that.
    pub fn exposed(&self) -> impl Iterator<Item = &str> {
        let nodes = self.lab.nodes.as_ref().and_then(|nodes| nodes.exposed.as_deref());
        self.database.exposed.as_deref().into_iter().chain(nodes)
    }
}
