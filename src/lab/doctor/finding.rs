use lockstorm_data::model::CheckResult;
use serde::Serialize;
use strum::{Display, EnumIter};

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Display, EnumIter)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Check {
    /// It answers, and lets us in.
    Reach,
    /// It is a Redis or Valkey that is new enough.
    Version,
    /// It is one server, and neither a cluster, a Sentinel nor a proxy.
    Kind,
    /// It is a master, and nobody fails over from it.
    Replication,
    /// It never drops a lock to make room.
    Eviction,
    /// What becomes of its locks when it is started again.
    Persistence,
    /// The user may do what a lock needs.
    Permission,
    /// It keeps keys as it says: for their TTL, and only one at a time.
    Keys,
    /// It answers in time.
    #[strum(serialize = "round trip")]
    RoundTrip,
    /// Its clock.
    Clock,
    /// Who else may read and write its locks.
    Access,
    /// No server is counted twice.
    Twice,
    /// How many servers there are.
    Number,
}

impl Check {
    /// Why it matters.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Reach => "a server that can't be asked gives no vote",
            Self::Version => {
                "the scripts and commands of locks need version 6.2; different versions fail in different ways"
            }
            Self::Kind => {
                "each vote must come from a machine that fails by itself: a cluster, a Sentinel or what stands behind a proxy is \
                 not one"
            }
            Self::Replication => {
                "replication is asynchronous: a replica that takes over does not know the newest locks, and somebody else gets them"
            }
            Self::Eviction => "an evicted key is a lock that two can hold",
            Self::Persistence => "a server that comes back empty grants the locks that it had granted before",
            Self::Permission => {
                "a lock that can't be extended or deleted is lost, or blocks everybody until its TTL is over"
            }
            Self::Keys => {
                "a key that is overwritten, lives longer or shorter than its TTL, or is lost, is a lock that two can hold or nobody can have"
            }
            Self::RoundTrip => "each round trip is taken off the validity, and a vote that comes too late is none",
            Self::Clock => {
                "keys expire by the server's own clock: how far it is off does not matter, but that it is set while locks are held does"
            }
            Self::Access => "whoever may write to the server may delete and take locks",
            Self::Twice => "two votes that fail together are one",
            Self::Number => "a quorum is more than half",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The server; `None`: the set.
    pub server: Option<String>,
    /// Whether this check finds the server fit for locks. If it does, and there is a `cure`, that is a warning.
    pub result: CheckResult,
    /// What was seen.
    pub seen: String,
    /// What to do about it, unless all is as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<String>,
}

/// What a check has seen: the result, the words, and what to do about it, if it is not good.
pub(super) type Seen = (CheckResult, String, Option<String>);

pub(super) fn good(seen: impl Into<String>) -> Seen {
    (CheckResult::Held, seen.into(), None)
}

pub(super) fn warning(seen: impl Into<String>, cure: impl Into<String>) -> Seen {
    (CheckResult::Held, seen.into(), Some(cure.into()))
}

pub(super) fn unknown(seen: impl Into<String>, cure: impl Into<String>) -> Seen {
    (CheckResult::Inconclusive, seen.into(), Some(cure.into()))
}

pub(super) fn bad(seen: impl Into<String>, cure: impl Into<String>) -> Seen {
    (CheckResult::Failed, seen.into(), Some(cure.into()))
}

impl Finding {
    pub(super) fn new(check: Check, (result, seen, cure): Seen) -> Self {
        Self {
            check,
            server: None,
            result,
            seen,
            cure,
        }
    }

    /// Whether all is as it should be.
    pub fn is_good(&self) -> bool {
        self.result == CheckResult::Held && self.cure.is_none()
    }
}
