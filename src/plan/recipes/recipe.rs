use serde::Serialize;

use super::play::DoubleHold;
use super::schedule::Schedule;

/// How two can hold one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Both rely on their locks rightly: the first one has lost votes.
    WithinValidity,
    /// The validity of the first one is over, but it is still in its section.
    AfterValidity,
}

impl Kind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::WithinValidity, Self::AfterValidity];
}

/// A schedule after which two hold one lock, with what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The faults.
    pub schedule: Schedule,
    /// How two can hold the lock.
    pub kind: Kind,
    /// What was seen.
    pub double: DoubleHold,
}

impl Recipe {
    pub(super) fn new(schedule: Schedule, double: DoubleHold) -> Self {
        Self {
            schedule,
            kind: if double.first_valid_for.is_zero() {
                Kind::AfterValidity
            } else {
                Kind::WithinValidity
            },
            double,
        }
    }
}
