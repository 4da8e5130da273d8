use std::fmt;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::how::Direction;
use crate::model::id::{HostId, ServerId};

/// A target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A host with all its nodes.
    Host(HostId),
    /// An app server with all its workers.
    Server(ServerId),
    /// Connections between hosts.
    Link(Link),
}

/// Connections between hosts, by which replicas and Sentinels work. Those within a host are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// All connections between these two hosts.
    Between(HostId, HostId),
    /// Those of all replicas to their master, wherever it is.
    Replication,
    /// Those of all Sentinels, to replicated nodes and to each other.
    Sentinels,
}

impl Link {
    /// The links that are not between two hosts.
    pub const GROUPS: [Self; 2] = [Self::Replication, Self::Sentinels];

    /// Its word in scenarios; `None` if it is between two hosts.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Between(..) => None,
            Self::Replication => Some("replication"),
            Self::Sentinels => Some("sentinels"),
        }
    }
}

impl Target {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> TargetKind {
        match self {
            Self::Host(_) => TargetKind::Host,
            Self::Server(_) => TargetKind::Server,
            Self::Link(_) => TargetKind::Link,
        }
    }

    /// Its key among targets of its kind in scenarios: `1`.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Host(id) => id.0.to_string(),
            Self::Server(id) => id.0.to_string(),
            Self::Link(Link::Between(one, other)) => format!("{}-{}", one.0, other.0),
            Self::Link(link) => link.word().unwrap_or_default().to_owned(),
        }
    }

    /// One way of it in words, to stand behind what is done to it: ` from host 1 to host 2`. Nothing for both ways.
    #[must_use]
    pub fn course(self, direction: Direction) -> String {
        let is_there = direction == Direction::There;
        match self {
            _ if direction == Direction::Both => String::new(),
            Self::Host(_) | Self::Server(_) if is_there => " on the way to it".to_owned(),
            Self::Host(_) | Self::Server(_) => " on the way from it".to_owned(),
            Self::Link(Link::Between(one, other)) if is_there => format!(" from {one} to {other}"),
            Self::Link(Link::Between(one, other)) => format!(" from {other} to {one}"),
            Self::Link(Link::Replication) if is_there => " from the master to its replicas".to_owned(),
            Self::Link(Link::Replication) => " from the replicas to their master".to_owned(),
            Self::Link(Link::Sentinels) if is_there => " from the Sentinels".to_owned(),
            Self::Link(Link::Sentinels) => " to the Sentinels".to_owned(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(id) => id.fmt(f),
            Self::Server(id) => id.fmt(f),
            Self::Link(Link::Between(one, other)) => write!(f, "the link of hosts {} and {}", one.0, other.0),
            Self::Link(Link::Replication) => f.write_str("replication"),
            Self::Link(Link::Sentinels) => f.write_str("the network of the Sentinels"),
        }
    }
}

/// The kinds of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TargetKind {
    /// Hosts of the lab.
    Host,
    /// App servers of the swarm.
    Server,
    /// Connections between hosts.
    Link,
}

impl TargetKind {
    /// The word before the colon in scenarios: `host:1`.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// One of them, in words: `a host`.
    #[must_use]
    pub const fn one(self) -> &'static str {
        match self {
            Self::Host => "a host",
            Self::Server => "an app server",
            Self::Link => "a link",
        }
    }
}
