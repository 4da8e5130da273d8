//! Who is the master of the replicated nodes, and who was.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::offsets::Offsets;
use lockstorm_data::model::{HostId, ReplicationRole, Seats};
use lockstorm_lab::NodeName;

/// The replicated nodes of a run, as they describe themselves.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// The newest roles of the nodes that answered.
    newest: BTreeMap<NodeName, ReplicationRole>,
    /// How far replicas are behind.
    pub offsets: Offsets,
    /// The last hosts that were seen to have the master, also while no node says that it is.
    last_masters: Vec<HostId>,
    /// The nodes that called themselves the master when they answered last.
    called_masters: BTreeSet<NodeName>,
    /// The host that had the only master last. An old master that is back calls itself one too, and is none for Sentinels.
    sole_master: Option<HostId>,
    /// The host whose replicated node has become the master last; `None` as long as it is the first one.
    pub new_master: Option<HostId>,
}

/// What has changed since the last roles.
#[derive(Debug)]
pub(crate) struct RoleChanges {
    /// The hosts whose replicated node says that it is the master, and did not the last time.
    pub masters: Vec<HostId>,
    /// The hosts whose replicated node said that it was the master, and is a replica now.
    pub demoted: Vec<HostId>,
}

impl Roles {
    /// Takes the newest roles.
    pub fn take(&mut self, roles: BTreeMap<NodeName, ReplicationRole>) -> RoleChanges {
        self.offsets.take(Instant::now(), &roles);
        let is_master = |role: &&ReplicationRole| matches!(role, ReplicationRole::Master { .. });
        let demoted = roles.iter().filter(|(node, role)| {
            let before = self.called_masters.contains(*node);
            before && !is_master(role)
        });
        let demoted: Vec<NodeName> = demoted.map(|(node, _)| *node).collect();
        // One that is away for a while may come back as either.
        self.called_masters.retain(|node| !demoted.contains(node));
        let masters = roles.iter().filter(|(_, role)| is_master(role));
        self.called_masters.extend(masters.map(|(node, _)| *node));
        self.newest = roles;
        let now: Vec<HostId> = self.masters().collect();
        let is_first = self.last_masters.is_empty();
        let new = now.iter().copied().filter(|host| !self.last_masters.contains(host));
        let new = if is_first { Vec::new() } else { new.collect() };
        if let [sole] = now[..] {
            self.sole_master = Some(sole);
        }
        if !now.is_empty() {
            self.last_masters = now;
        }
        RoleChanges {
            masters: new,
            demoted: demoted.into_iter().filter_map(|node| node.host).collect(),
        }
    }

    /// Which hosts have the master and the replicas, by what their nodes said last; hosts that don't answer now are left out.
    /// While two nodes call themselves the master, it is the one that did so alone before.
    pub fn seats(&self, answers: impl Fn(&HostId) -> bool) -> Seats {
        let mut replicas: Vec<(u64, HostId)> = Vec::new();
        for (node, role) in &self.newest {
            if let (Some(host), ReplicationRole::Replica { offset, .. }) = (node.host.filter(&answers), role) {
                replicas.push((*offset, host));
            }
        }
        replicas.sort_by_key(|&(offset, host)| (Reverse(offset), host));
        let replicas: Vec<HostId> = replicas.into_iter().map(|(_, host)| host).collect();
        // On a busy machine a node may be late with its answer once; it is the master until it says otherwise.
        let is_none = |host: &HostId| replicas.contains(host);
        Seats {
            primary: self.sole_master.filter(|host| answers(host) && !is_none(host)),
            replicas,
        }
    }

    /// What the node of this host said last that answered.
    pub fn of(&self, node: NodeName) -> Option<ReplicationRole> {
        self.newest.get(&node).copied()
    }

    /// Whether this host's replicated node says that it is the master although another one has become it.
    pub fn is_old_master(&self, host: HostId) -> bool {
        self.new_master.is_some_and(|new| new != host) && self.masters().any(|master| master == host)
    }

    /// The hosts whose replicated node says that it is the master. After a failover it can be two for a while.
    pub fn masters(&self) -> impl Iterator<Item = HostId> {
        let masters = self
            .newest
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }));
        masters.filter_map(|(node, _)| node.host)
    }
}
