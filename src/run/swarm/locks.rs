//! The locks of an app server, and the connections that they share.

use std::sync::Arc;
use std::time::Duration;

use super::error::SwarmError;
use super::plan::ServerPlan;
use lockstorm_data::model::{HostId, ServerId};
use lockstorm_data::scenario::{ArmSpec, LockKind, LockNodes, Topology};
use lockstorm_lab::MASTER_NAME;
use lockstorm_lock::{Cluster, Lock, NodeOptions, Nodes, Sentinels, WaitReplicas};

/// How long an app server waits for its lock nodes. After that it starts without the missing ones.
const NODES_READY: Duration = Duration::from_secs(2);

/// The connections to lock nodes. A node is suspect for all arms at once.
pub(super) struct Locks {
    server: ServerId,
    hosts: Vec<HostId>,
    independent: Nodes,
    /// Nodes that work together, by the ways in which arms use them.
    together: Vec<(Use, Nodes)>,
}

/// How an arm uses nodes that work together. A node that waits for replicas answers nothing else on that connection, so only
/// arms that do the same share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    of: LockNodes,
    wait: Option<WaitReplicas>,
}

impl Use {
    /// `None` for an arm that uses independent nodes, or none.
    fn of(arm: &ArmSpec) -> Option<Self> {
        let of = match arm.nodes() {
            LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => return None,
            together => together,
        };
        let wait = WaitReplicas::new(u32::try_from(arm.wait_replicas).unwrap_or(u32::MAX), arm.wait_timeout);
        Some(Self {
            of,
            wait: Some(wait).filter(|wait| wait.replicas > 0),
        })
    }
}

impl Locks {
    /// Connects to all nodes that the arms of the plan use, and waits for them a little.
    pub(super) async fn connect(plan: &ServerPlan) -> Self {
        let options = options(plan);
        // What other programs do with them is up to these.
        let ours = |arm: &&ArmSpec| arm.lock != LockKind::Client;
        let arms = || plan.arms.iter().map(|arm| &*arm.spec).filter(ours);
        let (hosts, addresses): (Vec<HostId>, Vec<_>) = plan.nodes.iter().cloned().unzip();
        let independent = Nodes::follow(addresses, options);
        let round_trips = Arc::clone(&plan.round_trips);
        // These connections are ours alone, so no other hook is set.
        independent.on_round_trip(move |node, took| round_trips.count(node, took));
        let together = together(arms().filter_map(Use::of), plan, options);
        let is_used = arms().any(|arm| arm.lock.uses_nodes() && arm.topology == Topology::Independent);
        if is_used {
            independent.ready(NODES_READY).await;
        }
        for (_, nodes) in &together {
            nodes.ready(NODES_READY).await;
        }
        Self {
            server: plan.id,
            hosts,
            independent,
            together,
        }
    }

    /// The lock of an arm.
    pub(super) fn of(&self, arm: &ArmSpec, seed: u64) -> Result<Lock, SwarmError> {
        let missing = || SwarmError::NoLockNode(self.server, arm.host);
        if let Some(wanted) = Use::of(arm) {
            let found = self.together.iter().find(|(how, _)| *how == wanted);
            let nodes = &found.ok_or_else(missing)?.1;
            return Ok(match wanted.of {
                LockNodes::ClusterMasters => Lock::redlock(nodes, seed),
                _ => Lock::single(nodes, 0, seed),
            });
        }
        Ok(match arm.lock {
            LockKind::None => Lock::none(),
            LockKind::Local => Lock::local(),
            LockKind::Single | LockKind::Cluster => {
                let index = self.hosts.iter().position(|host| *host == arm.host);
                Lock::single(&self.independent, index.ok_or_else(missing)?, seed)
            }
            LockKind::Redlock => {
                let hosts = arm.hosts.unwrap_or(self.hosts.len());
                if hosts > self.hosts.len() {
                    return Err(missing());
                }
                Lock::redlock(&self.independent.subset(&(0..hosts).collect::<Vec<_>>()), seed)
            }
            LockKind::Postgres | LockKind::Etcd | LockKind::Client | LockKind::Reported => return Err(missing()),
        })
    }
}

/// Opens the connections for each of these ways to use nodes that work together.
fn together(uses: impl Iterator<Item = Use>, plan: &ServerPlan, options: NodeOptions) -> Vec<(Use, Nodes)> {
    let mut open: Vec<(Use, Nodes)> = Vec::new();
    for how in uses {
        if open.iter().any(|(other, _)| *other == how) {
            continue;
        }
        let mut options = options;
        options.wait_replicas = how.wait;
        open.extend(nodes(how.of, plan, options).map(|nodes| (how, nodes)));
    }
    open
}

/// `None` if the lab does not have such nodes.
fn nodes(which: LockNodes, plan: &ServerPlan, options: NodeOptions) -> Option<Nodes> {
    let (replicated, cluster) = (plan.replicated.as_ref(), plan.cluster.as_ref());
    match which {
        LockNodes::Master => {
            let (sentinels, first_master) = replicated?;
            Some(Sentinels::at(sentinels, MASTER_NAME, first_master, options).master())
        }
        LockNodes::FirstMaster => Some(Nodes::connect(std::slice::from_ref(&replicated?.1), options)),
        LockNodes::Cluster => Some(Cluster::at(&cluster?.concat(), options).node()),
        LockNodes::ClusterMasters => Some(Nodes::connect(&cluster?[0], options)),
        LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => None,
    }
}

/// The options of all connections. They are shared by all arms, so they have the longest node timeout of any.
fn options(plan: &ServerPlan) -> NodeOptions {
    let options = NodeOptions::default();
    let arms = plan.arms.iter().filter(|arm| arm.spec.lock.uses_nodes());
    let longest = arms.map(|arm| arm.spec.node_timeout).max();
    options.node_timeout(longest.unwrap_or(options.node_timeout))
}
