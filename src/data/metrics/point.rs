use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::fields::{Sparse, sparse};
use super::ledger::Entries;
use super::metric::{Metric, Value};
use super::sums::Latencies;
use crate::model::{Outcomes, is_zero};

/// One second of one arm, or a tenth of one (which is not part of a record). Each count belongs to the second in which it happened. The counts of the measured part, plus
/// those after the end of the load, add up to the arm's figures. In a record, what is zero is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The second, or the tenth of one: 0 is the first of the measured part; negative in the warm-up.
    #[serde(rename = "second")]
    pub time: i64,
    /// Plain counts.
    #[serde(flatten, with = "sparse")]
    #[schemars(with = "Sparse<Counts>")]
    pub counts: Counts,
    /// Acquires by outcome.
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// The times of acquires by outcome, since a dead node refuses within .1 ms, and response times: `acquired_us`, `response_us`.
    #[serde(flatten, with = "sparse")]
    #[schemars(with = "Sparse<Latencies>")]
    pub times: Latencies,
    /// Requests that were due (open loop) or begun (closed loop).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offered: u64,
    /// Requests that ended with an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub answered: u64,
    /// What the ledger of its workload shows, by the time of each order. Updates that it lost count even if a later sale makes up for them.
    #[serde(flatten, with = "sparse")]
    #[schemars(with = "Sparse<Entries>")]
    pub ledger: Entries,
    /// Double holds, by the time at which they began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub double_holds: u64,
    /// Double uses, by the time at which they began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub double_uses: u64,
}

impl Point {
    /// Whether acquires were refused because nodes were missing, and none was granted.
    pub const fn is_refused(&self) -> bool {
        self.outcomes.acquired == 0 && self.outcomes.no_quorum + self.outcomes.unknown > 0
    }

    /// What it added to a figure; `None` for figures that are not stored over time.
    pub fn of(&self, metric: Metric) -> Option<u64> {
        Some(match metric {
            Metric::NoQuorum => self.outcomes.no_quorum,
            Metric::DoubleHolds => self.double_holds,
            Metric::DoubleUses => self.double_uses,
            other => match other.row().value {
                Value::Counted(count) => self.counts[count],
                Value::Booked(entry) => self.ledger[entry],
                _ => return None,
            },
        })
    }
}
