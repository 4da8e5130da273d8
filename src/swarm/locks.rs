//! The locks of an app server, and the connections that they share.

use std::sync::Arc;
use std::time::Duration;

use super::error::SwarmError;
use super::plan::{ReplicatedNodes, ServerPlan};
use crate::lock::{Lock, NodeOptions, Nodes, Sentinels};
use crate::model::{HostId, ServerId};
use crate::scenario::{ArmSpec, LockKind, LockNodes, Topology};

/// How long an app server waits for its lock nodes. After that it starts without the missing ones.
const NODES_READY: Duration = Duration::from_secs(2);

/// The connections to lock nodes. A node is suspect for all arms at once.
pub(super) struct Locks {
    server: ServerId,
    hosts: Vec<HostId>,
    independent: Nodes,
    /// The master that Sentinels name, if an arm follows it.
    master: Option<Nodes>,
    /// The first master, if an arm stays with it.
    first_master: Option<Nodes>,
}

impl Locks {
    /// Connects to all nodes that the arms of the plan use, and waits for them a little.
    pub(super) async fn connect(plan: &ServerPlan) -> Self {
        let options = options(plan);
        let arms = || plan.arms.iter().map(|arm| &*arm.spec);
        let (hosts, addresses): (Vec<HostId>, Vec<_>) = plan.nodes.iter().cloned().unzip();
        let independent = Nodes::follow(addresses, options);
        let round_trips = Arc::clone(&plan.round_trips);
        // These connections are ours alone, so no other hook is set.
        independent.on_round_trip(move |node, took| round_trips.count(node, took));
        let replicated = plan.replicated.as_ref();
        let follows = arms().any(|arm| arm.nodes() == LockNodes::Master);
        let stays = arms().any(|arm| arm.topology == Topology::Replicated && arm.nodes() == LockNodes::OneHost);
        let locks = Self {
            server: plan.id,
            hosts,
            independent,
            master: replicated.filter(|_| follows).map(|nodes| master(nodes, options)),
            first_master: replicated
                .filter(|_| stays)
                .map(|nodes| Nodes::connect(std::slice::from_ref(&nodes.first_master), options)),
        };
        let uses_hosts = arms().any(|arm| arm.lock.uses_nodes() && arm.topology == Topology::Independent);
        let used = [
            Some(&locks.independent).filter(|_| uses_hosts),
            locks.master.as_ref(),
            locks.first_master.as_ref(),
        ];
        for nodes in used.into_iter().flatten() {
            nodes.ready(NODES_READY).await;
        }
        locks
    }

    /// The lock of an arm.
    pub(super) fn of(&self, arm: &ArmSpec, seed: u64) -> Result<Lock, SwarmError> {
        let missing = || SwarmError::NoLockNode(self.server, arm.host);
        Ok(match (arm.lock, arm.nodes(), arm.topology) {
            (LockKind::None, ..) => Lock::none(),
            (LockKind::Local, ..) => Lock::local(),
            (LockKind::Single | LockKind::Redlock, LockNodes::Master, _) => {
                Lock::single(self.master.as_ref().ok_or_else(missing)?, 0, seed)
            }
            (LockKind::Single, _, Topology::Replicated) => {
                Lock::single(self.first_master.as_ref().ok_or_else(missing)?, 0, seed)
            }
            (LockKind::Single, _, Topology::Independent) => {
                let index = self.hosts.iter().position(|host| *host == arm.host);
                Lock::single(&self.independent, index.ok_or_else(missing)?, seed)
            }
            (LockKind::Redlock, ..) => Lock::redlock(&self.independent, seed),
        })
    }
}

/// The options of all connections. They are shared by all arms, so they have the longest node timeout of any.
fn options(plan: &ServerPlan) -> NodeOptions {
    let options = NodeOptions::default();
    let arms = plan.arms.iter().filter(|arm| arm.spec.lock.uses_nodes());
    NodeOptions {
        node_timeout: arms
            .map(|arm| arm.spec.node_timeout)
            .max()
            .unwrap_or(options.node_timeout),
        ..options
    }
}

fn master(nodes: &ReplicatedNodes, options: NodeOptions) -> Nodes {
    Sentinels::at(&nodes.sentinels, nodes.master_name, &nodes.first_master, options).master()
}
