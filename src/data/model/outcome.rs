//! How acquires ended, and what nodes they lacked.

use lockstorm_lock::{Cause, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many acquires ended in which way; in JSON without those in which none did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are the variants of `Outcome`")]
pub struct Outcomes {
    #[serde(skip_serializing_if = "is_zero")]
    pub acquired: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub contended: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub no_quorum: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub expired: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

/// For counts that JSON is without if they are zero.
pub(crate) const fn is_zero(n: &u64) -> bool {
    *n == 0
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

    /// All acquires, with any outcome. In a record that another program wrote this may exceed the largest number, and
    /// saturates.
    pub fn total(&self) -> u64 {
        let all = [
            self.acquired,
            self.contended,
            self.no_quorum,
            self.expired,
            self.unknown,
        ];
        all.into_iter().fold(0, u64::saturating_add)
    }
}

/// A node that an acquire lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoVote {
    /// Its position in the lock, from 1.
    pub node: usize,
    /// Why it gave no vote: a name, or an object with the node's own error.
    #[schemars(with = "serde_json::Value")]
    pub cause: Cause,
}

impl NoVote {
    /// The nodes that were missing, from the answers of all nodes of a lock. Nodes that voted don't count, nor do those
    /// that only said that somebody else holds the lock.
    pub fn all_of(causes: &[Option<Cause>]) -> impl Iterator<Item = Self> {
        causes.iter().enumerate().filter_map(|(index, cause)| match cause {
            None | Some(Cause::Held) => None,
            Some(cause) => Some(Self {
                node: index + 1,
                cause: cause.clone(),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_voted_and_nodes_that_know_another_holder_are_not_lacking() {
        let causes = [None, Some(Cause::Held), Some(Cause::Timeout)];
        let lacking: Vec<_> = NoVote::all_of(&causes).collect();
        let silent = NoVote {
            node: 3,
            cause: Cause::Timeout,
        };
        assert_eq!(lacking, [silent]);
    }
}
