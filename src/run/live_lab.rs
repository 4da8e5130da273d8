use std::collections::BTreeMap;
use std::sync::Arc;

use super::lab_watch::LabWatch;
use crate::lab::{Lab, NodeName, NodeStats};
use crate::model::{HostId, ReplicationRole};

/// The lab of a run, and its last known state.
pub(super) struct LiveLab {
    pub handle: Arc<Lab>,
    /// For example `redis-server 7.0.15`.
    pub server_name: Arc<str>,
    /// Notices changes that nobody ordered.
    pub watch: LabWatch,
    /// The newest statistics of the lock nodes that answered.
    pub stats: BTreeMap<NodeName, NodeStats>,
    /// The newest roles of the replicated nodes that answered.
    pub roles: BTreeMap<NodeName, ReplicationRole>,
    /// The last hosts that were seen to have the master, also while no node says that it is.
    pub last_masters: Vec<HostId>,
}

impl LiveLab {
    /// Takes the newest roles. Returns the hosts whose replicated node has become a master since the last time.
    pub(super) fn take_roles(&mut self, roles: BTreeMap<NodeName, ReplicationRole>) -> Vec<HostId> {
        self.roles = roles;
        let now: Vec<HostId> = self.masters().collect();
        let is_first = self.last_masters.is_empty();
        let new = now.iter().copied().filter(|host| !self.last_masters.contains(host));
        let new = if is_first { Vec::new() } else { new.collect() };
        if !now.is_empty() {
            self.last_masters = now;
        }
        new
    }

    /// The hosts whose replicated node says that it is the master. After a failover it can be two for a while.
    pub(super) fn masters(&self) -> impl Iterator<Item = HostId> {
        let masters = self
            .roles
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }));
        masters.filter_map(|(node, _)| node.host)
    }
}
