use lockstorm_lock::Outcome;
use serde::{Deserialize, Serialize};

/// How many acquires ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the variants of `Outcome`")]
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

    /// All acquires, with any outcome. In a record that another program wrote this may exceed the largest number, and
    /// saturates.
    #[must_use]
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
