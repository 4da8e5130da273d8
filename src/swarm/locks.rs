//! The locks of an app server, and the connections that they share.

use std::sync::Arc;
use std::time::Duration;

use super::error::SwarmError;
use super::plan::{ReplicatedNodes, ServerPlan};
use crate::lock::{Lock, NodeOptions, Nodes, Sentinels, WaitReplicas};
use crate::model::{HostId, ServerId};
use crate::scenario::{ArmSpec, Follow, LockKind, Topology};

/// How long an app server waits for its lock nodes. After that it starts without the missing ones.
const NODES_READY: Duration = Duration::from_secs(2);

/// The connections to lock nodes. A node is suspect for all arms at once.
pub(super) struct Locks {
    server: ServerId,
    hosts: Vec<HostId>,
    independent: Nodes,
    /// The master, by the ways in which arms use it.
    masters: Vec<(Use, Nodes)>,
}

/// How an arm uses the master. A node that waits for replicas answers nothing else on that connection, so only arms that do the
/// same share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    follow: Follow,
    wait: Option<WaitReplicas>,
}

impl Use {
    /// `None` for an arm that does not use the replicated nodes.
    fn of(arm: &ArmSpec) -> Option<Self> {
        let wait = WaitReplicas {
            replicas: u32::try_from(arm.wait_replicas).unwrap_or(u32::MAX),
            timeout: arm.wait_timeout,
        };
        (arm.topology == Topology::Replicated).then_some(Self {
            follow: arm.follow,
            wait: Some(wait).filter(|wait| wait.replicas > 0),
        })
    }
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
        let masters = masters(arms().filter_map(Use::of), plan.replicated.as_ref(), options);
        let is_used = arms().any(|arm| arm.lock.uses_nodes() && arm.topology == Topology::Independent);
        let independent_ready = Some(&independent).filter(|_| is_used);
        for nodes in independent_ready
            .into_iter()
            .chain(masters.iter().map(|(_, nodes)| nodes))
        {
            nodes.ready(NODES_READY).await;
        }
        Self {
            server: plan.id,
            hosts,
            independent,
            masters,
        }
    }

    /// The lock of an arm.
    pub(super) fn of(&self, arm: &ArmSpec, seed: u64) -> Result<Lock, SwarmError> {
        let missing = || SwarmError::NoLockNode(self.server, arm.host);
        if let Some(wanted) = Use::of(arm) {
            let found = self.masters.iter().find(|(how, _)| *how == wanted);
            return Ok(Lock::single(&found.ok_or_else(missing)?.1, 0, seed));
        }
        Ok(match arm.lock {
            LockKind::None => Lock::none(),
            LockKind::Local => Lock::local(),
            LockKind::Single => {
                let index = self.hosts.iter().position(|host| *host == arm.host);
                Lock::single(&self.independent, index.ok_or_else(missing)?, seed)
            }
            LockKind::Redlock => Lock::redlock(&self.independent, seed),
        })
    }
}

/// Opens a connection to the master for each of these ways to use it.
fn masters(
    uses: impl Iterator<Item = Use>,
    nodes: Option<&ReplicatedNodes>,
    options: NodeOptions,
) -> Vec<(Use, Nodes)> {
    let mut open: Vec<(Use, Nodes)> = Vec::new();
    let Some(nodes) = nodes else { return open };
    for how in uses {
        if open.iter().any(|(other, _)| *other == how) {
            continue;
        }
        let options = NodeOptions {
            wait_replicas: how.wait,
            ..options
        };
        let master = match how.follow {
            Follow::Sentinel => {
                Sentinels::at(&nodes.sentinels, nodes.master_name, &nodes.first_master, options).master()
            }
            Follow::Fixed => Nodes::connect(std::slice::from_ref(&nodes.first_master), options),
        };
        open.push((how, master));
    }
    open
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
