use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use lockstorm_data::model::HostId;

/// What a node is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Locks.
    Lock,
    /// Caches, and stock that is kept in Redis. It keeps no locks, and no fault hits it.
    Cache,
    /// Locks of the replicated topology: at any time one of these nodes is the master, and the others are its replicas.
    Replicated,
    /// Watches the replicated nodes, and makes a replica the new master when the old one fails.
    Sentinel,
    /// The first of a host's two nodes of the cluster: it begins as a master.
    #[strum(serialize = "cluster-1")]
    FirstInCluster,
    /// The second of them: it begins as the replica of another host's first one.
    #[strum(serialize = "cluster-2")]
    SecondInCluster,
    /// A member of etcd.
    Etcd,
}

impl Role {
    /// The nodes of the cluster that a host has.
    pub const IN_CLUSTER: [Self; 2] = [Self::FirstInCluster, Self::SecondInCluster];

    /// Whether it is one of the cluster's nodes.
    pub const fn is_in_cluster(self) -> bool {
        matches!(self, Self::FirstInCluster | Self::SecondInCluster)
    }

    /// Whether it has a second port, at which others like it talk to it.
    pub(crate) const fn has_bus(self) -> bool {
        self.is_in_cluster() || matches!(self, Self::Etcd)
    }

    /// Whether it is a server of Redis with keys.
    pub(crate) const fn has_keys(self) -> bool {
        !matches!(self, Self::Sentinel | Self::Etcd)
    }

    /// Whether other nodes know it by its port, so that it must come back there.
    pub(crate) const fn is_known_by_port(self) -> bool {
        match self {
            Self::Lock | Self::Cache => false,
            Self::Replicated | Self::Sentinel | Self::FirstInCluster | Self::SecondInCluster | Self::Etcd => true,
        }
    }

    /// It in words.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Lock => "lock node",
            Self::Cache => "cache node",
            Self::Replicated => "replicated node",
            Self::Sentinel => "Sentinel",
            Self::FirstInCluster => "first cluster node",
            Self::SecondInCluster => "second cluster node",
            Self::Etcd => "etcd member",
        }
    }
}

/// Names a node of a lab: its role, and its host. A host has at most one node of each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NodeName {
    /// Its role.
    pub role: Role,
    /// The host that it is on; `None` if no fault hits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostId>,
}

impl NodeName {
    /// The cache node.
    pub const CACHE: Self = Self {
        role: Role::Cache,
        host: None,
    };

    /// The node of this role on a host.
    pub const fn on(host: HostId, role: Role) -> Self {
        Self { role, host: Some(host) }
    }

    /// Its directory in the run directory.
    pub(crate) fn directory(self) -> String {
        let role: &str = self.role.into();
        match self.host {
            Some(host) if self.role == Role::Lock => format!("host-{}", host.0),
            Some(host) => format!("host-{}-{role}", host.0),
            None => role.to_owned(),
        }
    }
}

impl fmt::Display for NodeName {
    /// A lock node has the name of its host.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host, self.role) {
            (Some(host), Role::Lock) => host.fmt(f),
            (Some(host), role) => write!(f, "the {} of {host}", role.noun()),
            (None, role) => write!(f, "the {}", role.noun()),
        }
    }
}

/// As users write it.
impl FromStr for NodeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "cache" => Ok(Self::CACHE),
            Ok(number @ 1..) => Ok(Self::on(HostId(number), Role::Lock)),
            _ => Err("write the number of a host, 1 or more, or \"cache\"".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_by_its_host_and_its_role() {
        let table = [
            (NodeName::on(HostId(2), Role::Lock), "host 2", "host-2"),
            (
                NodeName::on(HostId(2), Role::Cache),
                "the cache node of host 2",
                "host-2-cache",
            ),
            (NodeName::CACHE, "the cache node", "cache"),
            (
                NodeName::on(HostId(3), Role::Replicated),
                "the replicated node of host 3",
                "host-3-replicated",
            ),
            (
                NodeName::on(HostId(3), Role::Sentinel),
                "the Sentinel of host 3",
                "host-3-sentinel",
            ),
            (
                NodeName::on(HostId(1), Role::SecondInCluster),
                "the second cluster node of host 1",
                "host-1-cluster-2",
            ),
        ];
        for (name, words, directory) in table {
            assert_eq!(
                (name.to_string().as_str(), name.directory().as_str()),
                (words, directory)
            );
        }
    }

    #[test]
    fn people_type_a_number_or_the_cache() {
        assert_eq!("2".parse(), Ok(NodeName::on(HostId(2), Role::Lock)));
        assert_eq!("cache".parse(), Ok(NodeName::CACHE));
        for wrong in ["0", "-1", "lock", ""] {
            assert!(wrong.parse::<NodeName>().is_err(), "{wrong}");
        }
    }
}
