//! What the nodes of a host have lost that was down and is back.

use std::net::SocketAddr;
use std::time::Instant;

use crate::watch::lacks::{ArmLocks, Lacks, of_arms};
use lockstorm_data::model::{Condition, HostId};
use lockstorm_lab::{Lab, NodeName, Role};

/// A host that is down and is to come back.
#[derive(Debug, Clone)]
pub(crate) struct Returning {
    nodes: Vec<DownNode>,
    /// Whether they keep nothing.
    forgets: bool,
    arms: Vec<ArmLocks>,
}

/// A node that keeps locks, before it comes back.
#[derive(Debug, Clone)]
struct DownNode {
    node: NodeName,
    servers: Vec<SocketAddr>,
    died: Instant,
}

/// A node that is back.
#[derive(Debug)]
pub(crate) struct CameBack {
    /// Its addresses, before and now.
    pub servers: Vec<SocketAddr>,
    /// Since when it was down.
    pub died: Instant,
    /// When that was over.
    pub back: Instant,
    /// What it lacks of the locks that it voted for and that are held, for each arm by its position; `None` if it did not answer.
    pub lacks: Vec<(usize, Option<Lacks>)>,
}

impl Returning {
    /// What must be known of this host before it comes back. `arms` are those whose lock uses nodes.
    pub fn of(lab: &Lab, host: HostId, forgets: bool, arms: Vec<ArmLocks>) -> Self {
        let keeps_locks = |name: &NodeName| {
            let with_locks = matches!(name.role, Role::Lock | Role::Replicated) || name.role.is_in_cluster();
            with_locks && name.host == Some(host)
        };
        let down = |node| {
            let state = lab.node_state(node);
            let down = state.conditions.get(Condition::Down)?;
            Some(DownNode {
                node,
                servers: lab.servers(node),
                died: down.since,
            })
        };
        Self {
            forgets,
            nodes: lab.names().filter(keeps_locks).filter_map(down).collect(),
            arms,
        }
    }

    /// Asks its nodes, which are back since `back`, for the locks that they voted for.
    pub async fn look(&self, lab: &Lab, back: Instant) -> Vec<CameBack> {
        let mut all = Vec::new();
        for DownNode { node, servers, died } in &self.nodes {
            let is_voter = |server: &SocketAddr| servers.contains(server);
            let lacks = of_arms(lab, *node, back, self.forgets, &self.arms, |lock| lock.voters().iter().any(is_voter)).await;
            all.push(CameBack {
                servers: [servers.clone(), lab.servers(*node)].concat(),
                died: *died,
                back,
                lacks,
            });
        }
        all
    }
}
