use std::fmt;

use serde::{Deserialize, Serialize};

/// A host of the lab, counted from 1 as users count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub usize);

impl HostId {
    /// The position of this host in a vector of hosts.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.saturating_sub(1)
    }

    /// The host at `index` of a vector of hosts.
    #[must_use]
    pub const fn from_index(index: usize) -> Self {
        Self(index + 1)
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

/// An app server of the swarm, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerId(pub usize);

impl ServerId {
    /// The position of this app server in a vector of app servers.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.saturating_sub(1)
    }

    /// The app server at `index` of a vector of app servers.
    #[must_use]
    pub const fn from_index(index: usize) -> Self {
        Self(index + 1)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "app server {}", self.0)
    }
}

/// An order that somebody gives a run. Whoever gives it chooses the number; its events carry it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrderId(pub u64);
