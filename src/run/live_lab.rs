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
}

impl LiveLab {
    /// The hosts whose replicated node says that it is the master. After a failover it can be two for a while.
    pub(super) fn masters(&self) -> impl Iterator<Item = HostId> {
        let masters = self
            .roles
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }));
        masters.filter_map(|(node, _)| node.host)
    }
}
