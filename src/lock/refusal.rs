use std::fmt;
use std::time::Duration;

use crate::cause::Cause;
use crate::outcome::Outcome;

/// Why a lock was not acquired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Somebody else holds the lock, as far as the nodes say that answer. While nodes are down, it may be a key that nobody needs any
    /// more on one of the others that is in the way, until its TTL is over. For a local lock: it was not released in time.
    #[error("somebody else holds the lock")]
    Contended,
    /// Too few nodes could be asked: nobody could have got the lock.
    #[error("no quorum: {}", PerNode(.causes))]
    NoQuorum {
        /// For each node in order, why it gave no vote; `None` if it did.
        causes: Vec<Option<Cause>>,
    },
    /// Too few nodes permit it: the user lacks a permission, or the password is wrong. Waiting does not help.
    #[error("not permitted: {}", PerNode(.causes))]
    NotPermitted {
        /// For each node in order, why it gave no vote; `None` if it did.
        causes: Vec<Option<Cause>>,
    },
    /// A quorum voted, but too late to rely on the votes. They were taken back.
    #[error("{votes} votes came after {elapsed:?}, when no validity was left")]
    Expired {
        /// How many nodes had voted for us.
        votes: usize,
        /// The time from before the first command was queued until after the quorum's reply.
        elapsed: Duration,
    },
    /// The key is longer than [`NodeOptions::longest_key`](crate::NodeOptions::longest_key). Nobody was asked.
    #[error("the key has {length} bytes, and may have {most}")]
    KeyTooLong {
        /// The length of the key in bytes.
        length: usize,
        /// The length of the longest that may be used.
        most: usize,
    },
    /// Nodes that did not answer in time could have completed the quorum. Whatever they may hold was taken back.
    #[error("not known: {}", PerNode(.causes))]
    Unknown {
        /// For each node in order, why it gave no vote; `None` if it did.
        causes: Vec<Option<Cause>>,
    },
}

impl Refusal {
    /// The refusal when too few nodes could be asked, for these causes.
    pub(crate) fn no_quorum(quorum: usize, causes: Vec<Option<Cause>>) -> Self {
        let denied = |cause: &Option<Cause>| matches!(cause, Some(Cause::NoPermission(_)));
        let denials = causes.iter().filter(|cause| denied(cause)).count();
        if denials > 0 && causes.len() - denials < quorum {
            Self::NotPermitted { causes }
        } else {
            Self::NoQuorum { causes }
        }
    }

    /// Whether waiting does not help: too few nodes permit it, or can ever be asked.
    pub(crate) fn is_hopeless(&self) -> bool {
        let ended = |causes: &[Option<Cause>]| {
            let gone = causes.iter().filter(|cause| **cause == Some(Cause::Ended)).count();
            causes.len() - gone < causes.len() / 2 + 1
        };
        match self {
            Self::NotPermitted { .. } => true,
            Self::NoQuorum { causes } => ended(causes),
            _ => false,
        }
    }

    /// For each node in order, why it gave no vote; empty if that is not the reason of the refusal.
    #[must_use]
    pub fn causes(&self) -> &[Option<Cause>] {
        match self {
            Self::NoQuorum { causes } | Self::NotPermitted { causes } | Self::Unknown { causes } => causes,
            Self::Contended | Self::Expired { .. } | Self::KeyTooLong { .. } => &[],
        }
    }

    /// The outcome that this refusal counts as.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Contended => Outcome::Contended,
            Self::NoQuorum { .. } | Self::NotPermitted { .. } | Self::KeyTooLong { .. } => Outcome::NoQuorum,
            Self::Expired { .. } => Outcome::Expired,
            Self::Unknown { .. } => Outcome::Unknown,
        }
    }
}

/// A lock could not be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotExtended {
    /// The lock is lost for good.
    #[error("the lock is lost")]
    Lost,
    /// Too few nodes extended it. The rest of its validity remains, and the next attempt may succeed.
    #[error("not extended: {}", PerNode(.causes))]
    NoQuorum {
        /// For each node in order, why it did not extend the lock; `None` if it did.
        causes: Vec<Option<Cause>>,
    },
}

/// Lists causes for people: `node 1 refused, node 2 voted`.
pub(crate) struct PerNode<'a>(pub(crate) &'a [Option<Cause>]);

impl fmt::Display for PerNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there are no nodes");
        }
        for (index, cause) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}node {} ", index + 1)?;
            match cause {
                None => f.write_str("voted")?,
                Some(cause) => cause.fmt(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_each_node_and_its_cause() {
        let causes = vec![Some(Cause::Refused), None, Some(Cause::Refused)];
        let refusal = Refusal::no_quorum(2, causes);
        assert_eq!(refusal.outcome(), Outcome::NoQuorum);
        let nobody = Refusal::no_quorum(1, Vec::new());
        assert_eq!(nobody, Refusal::NoQuorum { causes: Vec::new() });
        assert_eq!(
            refusal.to_string(),
            "no quorum: node 1 refused, node 2 voted, node 3 refused"
        );
        let causes = vec![None, Some(Cause::Timeout), Some(Cause::Error("OOM".into()))];
        let refusal = Refusal::Unknown { causes };
        assert_eq!(
            refusal.to_string(),
            "not known: node 1 voted, node 2 timeout, node 3 error: OOM"
        );
        let causes = vec![None, Some(Cause::Duplicate { of: 0 })];
        let refusal = Refusal::no_quorum(2, causes);
        assert_eq!(
            refusal.to_string(),
            "no quorum: node 1 voted, node 2 is the same server as node 1"
        );
        assert_eq!(nobody.to_string(), "no quorum: there are no nodes");
    }
}
