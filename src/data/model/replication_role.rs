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
            Self::Replica { connected: false, .. } => "replica, not in step",
        })
    }
}
