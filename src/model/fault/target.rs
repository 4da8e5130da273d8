use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{HostId, ServerId};

/// A target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A host with all its nodes.
    Host(HostId),
    /// An app server with all its workers.
    Server(ServerId),
}

impl Target {
    /// Its kind.
    #[must_use]
    pub const fn kind(self) -> TargetKind {
        match self {
            Self::Host(_) => TargetKind::Host,
            Self::Server(_) => TargetKind::Server,
        }
    }

    /// Its key among targets of its kind in scenarios: `1`.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Host(id) => id.0.to_string(),
            Self::Server(id) => id.0.to_string(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(id) => id.fmt(f),
            Self::Server(id) => id.fmt(f),
        }
    }
}

/// The kinds of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// Hosts of the lab.
    Host,
    /// App servers of the swarm.
    Server,
}

impl TargetKind {
    /// The word before the colon in scenarios: `host:1`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Server => "server",
        }
    }

    /// One of them, in words: `a host`.
    #[must_use]
    pub const fn one(self) -> &'static str {
        match self {
            Self::Host => "a host",
            Self::Server => "an app server",
        }
    }
}
