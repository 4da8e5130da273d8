//! The kinds of lock, a row each: the lock nodes that they need, the keys of `[[arm]]` that they take, and their labels.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::metrics::Group;
use crate::model::HostId;

/// The lock of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// No lock.
    None,
    /// A keyed mutex inside each app server.
    Local,
    /// `SET key token NX PX ttl` on one node.
    Single,
    /// `SET key token NX PX ttl` on every host, or on the first few; a majority of them must grant it.
    Redlock,
    /// `SET key token NX PX ttl` on the master of a Redis Cluster that has the key's slot.
    Cluster,
    /// An advisory lock of a session of the database, which is PostgreSQL.
    Postgres,
    /// A key of etcd that ends with a lease.
    Etcd,
    /// Whatever another program does with the nodes that it is told: the arm's command, once for each app server.
    Client,
    /// That of a program that has reported what its locks did. Nothing plays it, so no scenario can name it.
    Reported,
}

/// Those that a scenario can name.
impl VariantArray for LockKind {
    const VARIANTS: &'static [Self] = &[
        Self::None,
        Self::Local,
        Self::Single,
        Self::Redlock,
        Self::Cluster,
        Self::Postgres,
        Self::Etcd,
        Self::Client,
    ];
}

/// How the nodes of a lock relate to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// They know nothing of each other.
    #[default]
    Independent,
    /// One is the master, the others replicate it, and Sentinels choose a new master when it fails.
    Replicated,
    /// They are one Redis Cluster: three masters, each with the keys of a third of the slots and with a replica.
    Cluster,
}

impl Topology {
    /// The keys of `[[arm]]` that it takes; the lock may still refuse them.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            // Of the others the first master is on host 1.
            Self::Independent => &["host", "hosts"],
            Self::Replicated => &["follow", "wait_replicas", "wait_timeout"],
            Self::Cluster => &["wait_replicas", "wait_timeout"],
        }
    }
}

/// Which of the replicated nodes a lock uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// The one that Sentinels name as the master.
    #[default]
    Sentinel,
    /// The first master, on host 1, whatever becomes of it: what code does that was given one address.
    Fixed,
}

/// One node of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Voter {
    /// The node on this host.
    Host(HostId),
    /// The master of the replicated nodes, on whichever host it is.
    Master,
    /// The cluster. Whichever of its masters has the key's slot answers, so that it counts as one node.
    Cluster,
}

impl Voter {
    /// The host that it is always on, if it is.
    pub const fn host(self) -> Option<HostId> {
        match self {
            Self::Host(host) => Some(host),
            Self::Master | Self::Cluster => None,
        }
    }
}

impl fmt::Display for Voter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => host.fmt(f),
            Self::Master => f.write_str("the master"),
            Self::Cluster => f.write_str("the cluster"),
        }
    }
}

/// The lock nodes that a lock uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockNodes {
    /// None: the lock is in the app server or the database, or there is no lock.
    Nowhere,
    /// The lock node of the host that the arm names.
    OneHost,
    /// The lock nodes of all hosts, or of as many as the arm says; a majority of them decides.
    EveryHost,
    /// The master of the replicated nodes.
    Master,
    /// The first master of the replicated nodes, on host 1, whatever becomes of it.
    FirstMaster,
    /// The cluster, as one node.
    Cluster,
    /// The first masters of the cluster, as if they were independent; a majority of them would decide.
    ClusterMasters,
}

/// The properties of a kind of lock.
pub(super) struct Row {
    /// A few words for tables.
    pub label: &'static str,
    /// The lock nodes that it uses in its usual topology.
    pub nodes: LockNodes,
    /// The topologies that its nodes can have; the first one is usual.
    pub topologies: &'static [Topology],
    /// The groups of `[[arm]]` keys that it takes, apart from those of every lock; the workload may still refuse them.
    pub keys: &'static [&'static [&'static str]],
    /// What is known of its locks, apart from masters.
    pub figures: &'static [Group],
}

/// The keys of all locks that somebody else can hold.
const WAITING: &[&str] = &["wait", "timeout", "serve_stale", "second_look"];
/// The keys of locks on lock nodes, where they expire.
const LEASE: &[&str] = &["ttl", "renew", "node_timeout", "on_loss", "on_outage"];
/// The keys of locks on nodes with replicas.
const REPLICAS: &[&str] = &["wait_replicas", "wait_timeout"];

/// What is known of a lock on servers.
const ON_SERVERS: &[Group] = &[Group::Locks, Group::Servers, Group::Losses];
/// What is known of a lock on servers with a TTL.
const LEASED: &[Group] = &[Group::Locks, Group::Servers, Group::Losses, Group::Leases];
/// What is known of a lock on lock nodes.
const ON_NODES: &[Group] = &[
    Group::Locks,
    Group::Servers,
    Group::Losses,
    Group::Leases,
    Group::LockNodes,
];
/// What is known of a lock that a program of somebody else has on lock nodes.
const OF_CLIENTS: &[Group] = &[
    Group::Locks,
    Group::Servers,
    Group::Losses,
    Group::Leases,
    Group::LockNodes,
    Group::Clients,
];

impl LockKind {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::None => Row {
                label: "no lock",
                nodes: LockNodes::Nowhere,
                topologies: &[Topology::Independent],
                keys: &[],
                figures: &[],
            },
            Self::Local => Row {
                label: "in-process mutex",
                nodes: LockNodes::Nowhere,
                topologies: &[Topology::Independent],
                keys: &[WAITING],
                figures: &[Group::Locks],
            },
            Self::Single => Row {
                label: "single",
                nodes: LockNodes::OneHost,
                topologies: &[Topology::Independent, Topology::Replicated],
                keys: &[WAITING, LEASE, REPLICAS, &["lifetime", "topology", "host", "follow"]],
                figures: ON_NODES,
            },
            Self::Redlock => Row {
                label: "redlock",
                nodes: LockNodes::EveryHost,
                topologies: &[Topology::Independent, Topology::Cluster],
                keys: &[WAITING, LEASE, &["lifetime", "topology", "hosts"]],
                figures: ON_NODES,
            },
            Self::Cluster => Row {
                label: "cluster",
                nodes: LockNodes::Cluster,
                topologies: &[Topology::Cluster],
                keys: &[WAITING, LEASE, REPLICAS, &["lifetime"]],
                figures: ON_NODES,
            },
            Self::Postgres => Row {
                label: "PostgreSQL session",
                nodes: LockNodes::Nowhere,
                topologies: &[Topology::Independent],
                keys: &[WAITING, &["on_loss", "on_outage"]],
                figures: ON_SERVERS,
            },
            Self::Etcd => Row {
                label: "etcd",
                nodes: LockNodes::Nowhere,
                topologies: &[Topology::Independent],
                keys: &[WAITING, &["ttl", "node_timeout", "on_loss", "on_outage"]],
                figures: LEASED,
            },
            Self::Client => Row {
                label: "client",
                nodes: LockNodes::EveryHost,
                topologies: &[Topology::Independent, Topology::Replicated, Topology::Cluster],
                keys: &[WAITING, LEASE, &["topology", "hosts", "follow", "command"]],
                figures: OF_CLIENTS,
            },
            Self::Reported => Row {
                label: "reported",
                nodes: LockNodes::Nowhere,
                topologies: &[Topology::Independent],
                keys: &[],
                figures: &[Group::Locks, Group::Losses, Group::Leases],
            },
        }
    }

    /// Whether this is a lock at all.
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether these figures are known of its locks.
    pub fn has(self, group: Group) -> bool {
        self.row().figures.contains(&group)
    }

    /// Whether its locks may end by their TTL before the work under them does.
    pub fn has_ttl(self) -> bool {
        self.has(Group::Leases) && !matches!(self, Self::Reported)
    }

    /// Whether faults of hosts reach it.
    pub fn is_on_hosts(self) -> bool {
        self.uses_nodes() || matches!(self, Self::Etcd)
    }

    /// Whether it uses lock nodes.
    pub const fn uses_nodes(self) -> bool {
        !matches!(self.row().nodes, LockNodes::Nowhere)
    }

    /// The lock nodes that it uses.
    pub const fn nodes_in(self, topology: Topology, follow: Follow) -> LockNodes {
        match (topology, follow) {
            (Topology::Replicated, Follow::Sentinel) => LockNodes::Master,
            (Topology::Replicated, Follow::Fixed) => LockNodes::FirstMaster,
            (Topology::Cluster, _) if matches!(self, Self::Redlock) => LockNodes::ClusterMasters,
            (Topology::Cluster, _) => LockNodes::Cluster,
            (Topology::Independent, _) => self.row().nodes,
        }
    }

    /// Whether a majority of its nodes decides.
    pub const fn needs_majority(self) -> bool {
        matches!(self.row().nodes, LockNodes::EveryHost)
    }
}
