//! What nodes say about themselves.

use std::fmt;

use super::id::HostId;

/// What a replicated node says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationRole {
    /// It takes writes.
    Master {
        /// How many replicas are connected to it.
        replicas: usize,
        /// How many bytes it has written to its replication stream.
        offset: u64,
    },
    /// It follows a master.
    Replica {
        /// The host of that master; `None` if it is not a node of the lab.
        master: Option<HostId>,
        /// Whether it is connected to it and has all of its data.
        connected: bool,
        /// How much of the replication stream it has applied, in bytes.
        offset: u64,
    },
}

impl fmt::Display for ReplicationRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Master { .. } => "master",
            Self::Replica { connected: true, .. } => "replica",
            Self::Replica { connected: false, .. } => "replica, out of sync",
        })
    }
}

/// What a node of the cluster says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterNode {
    /// What it is in the cluster.
    pub role: ClusterRole,
    /// Whether it says that the cluster is in order (`cluster_state:ok`). If not, it refuses all keys (`CLUSTERDOWN`).
    pub is_ok: bool,
}

/// What a node is in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterRole {
    /// It takes writes.
    Master {
        /// How many slots it has; 0 after it has lost them to a replica, until it becomes that node's replica.
        slots: u16,
    },
    /// It follows a master.
    Replica {
        /// The port of that master.
        master: u16,
        /// Whether it is connected to it and has all of its data.
        connected: bool,
    },
}

impl ClusterNode {
    /// How many slots a cluster has.
    pub const SLOTS: u16 = 16_384;

    /// Whether it has slots.
    pub const fn has_slots(self) -> bool {
        matches!(self.role, ClusterRole::Master { slots: 1.. })
    }

    /// For how many slots it takes writes.
    pub const fn usable_slots(self) -> u16 {
        match self.role {
            ClusterRole::Master { slots } if self.is_ok => slots,
            _ => 0,
        }
    }
}

impl fmt::Display for ClusterRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Master { slots: 0 } => f.write_str("a master without slots"),
            Self::Master { slots } => write!(f, "a master with {slots} slots"),
            Self::Replica { connected: true, .. } => f.write_str("a replica"),
            Self::Replica { connected: false, .. } => f.write_str("a replica, out of sync"),
        }
    }
}
