use std::fmt;

use serde::{Deserialize, Serialize};

/// How one acquire ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The lock is held.
    Acquired,
    /// Enough nodes answered, and somebody else holds the lock.
    Contended,
    /// Too few nodes could be reached for the lock to be granted to anybody.
    NoQuorum,
    /// The votes came, but too late: no validity was left.
    Expired,
    /// Nodes that did not answer in time could have made the quorum. A timeout is unknown, never "failed".
    Unknown,
}

/// Why one node gave no vote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The key is held under another token.
    Held,
    /// No connection: the node is down or refuses.
    Refused,
    /// No reply within the node timeout; the command may still run later.
    Timeout,
    /// The connection broke after the command was sent; whether it ran is not known.
    Disconnected,
    /// The node owes replies for longer than the node timeout, so it was not asked at all.
    Suspect,
    /// As many commands as may be under way to this node are, so it was not asked at all.
    Busy,
    /// The node's user may not run the command or use the key (`NOPERM`), or its password is wrong.
    NoPermission(String),
    /// No connection: the node can't prove who it is, or does not agree on TLS.
    Tls(String),
    /// The node answered with another error, for example `READONLY` or `OOM`.
    Error(String),
}

impl Cause {
    /// Whether the node may have granted its vote although we did not hear of it.
    #[must_use]
    pub const fn may_have_voted(&self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected)
    }
}

impl Cause {
    /// Its kind in one word, without the node's own text: for counting.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Suspect => "suspect",
            Self::Busy => "busy",
            Self::NoPermission(_) => "no_permission",
            Self::Tls(_) => "tls",
            Self::Error(_) => "error",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("held"),
            Self::Refused => f.write_str("refused"),
            Self::Timeout => f.write_str("timeout"),
            Self::Disconnected => f.write_str("disconnected"),
            Self::Suspect => f.write_str("suspect"),
            Self::Busy => f.write_str("busy"),
            Self::NoPermission(text) => write!(f, "no permission: {text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::Error(text) => write!(f, "error: {text}"),
        }
    }
}

/// How many acquires ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the fields are the variants of `Outcome`
pub struct Outcomes {
    pub acquired: u64,
    pub contended: u64,
    pub no_quorum: u64,
    pub expired: u64,
    pub unknown: u64,
}

impl Outcomes {
    /// Counts one acquire.
    pub const fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Acquired => self.acquired += 1,
            Outcome::Contended => self.contended += 1,
            Outcome::NoQuorum => self.no_quorum += 1,
            Outcome::Expired => self.expired += 1,
            Outcome::Unknown => self.unknown += 1,
        }
    }

    /// Adds the counts of `other`.
    pub const fn add(&mut self, other: &Self) {
        self.acquired += other.acquired;
        self.contended += other.contended;
        self.no_quorum += other.no_quorum;
        self.expired += other.expired;
        self.unknown += other.unknown;
    }

    /// All acquires, however they ended. Of a record that somebody else wrote they may be more than can be counted.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.acquired
            .saturating_add(self.contended)
            .saturating_add(self.no_quorum)
            .saturating_add(self.expired)
            .saturating_add(self.unknown)
    }
}
