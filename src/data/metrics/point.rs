use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::metric::{Metric, Value};
use crate::model::Outcomes;

/// One second of one arm, or a tenth of one (which is not part of a record). Each count belongs to the second in which it happened. The counts of the measured part, plus
/// those after the end of the load, add up to the arm's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The second, or the tenth of one: 0 is the first of the measured part; negative in the warm-up.
    #[serde(rename = "second")]
    pub time: i64,
    /// Plain counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Median time of an acquire in microseconds; 0 if there was none.
    pub acquire_p50_us: u64,
    /// 99th percentile of the time of an acquire in microseconds; 0 if there was none.
    pub acquire_p99_us: u64,
    /// Median response time in microseconds; 0 if no request ended.
    pub response_p50_us: u64,
    /// 99th percentile of the response time in microseconds; 0 if no request ended.
    pub response_p99_us: u64,
    /// Requests that were due (open loop) or begun (closed loop).
    pub offered: u64,
    /// Requests that ended with an answer.
    pub answered: u64,
    /// Orders, by the time of the sale.
    pub orders: u64,
    /// Units oversold, by the time of the sale.
    pub oversold: u64,
    /// Lost updates, by the time of the sale that overwrote them; this does not fall when a later sale makes up for one.
    pub lost_updates: u64,
    /// Double holds, by the time at which they began.
    #[serde(default)]
    pub double_holds: u64,
    /// Double uses, by the time at which they began.
    #[serde(default)]
    pub double_uses: u64,
}

impl Point {
    /// Whether acquires were refused because nodes were missing, and none was granted.
    pub const fn is_refused(&self) -> bool {
        self.outcomes.acquired == 0 && self.outcomes.no_quorum + self.outcomes.unknown > 0
    }

    /// What it added to a figure; `None` for figures that are not stored over time.
    pub fn of(&self, metric: Metric) -> Option<u64> {
        match (metric, metric.row().value) {
            (Metric::NoQuorum, _) => Some(self.outcomes.no_quorum),
            (Metric::Orders, _) => Some(self.orders),
            (Metric::Oversold, _) => Some(self.oversold),
            (Metric::LostUpdates, _) => Some(self.lost_updates),
            (Metric::DoubleHolds, _) => Some(self.double_holds),
            (Metric::DoubleUses, _) => Some(self.double_uses),
            (_, Value::Counted(count)) => Some(self.counts[count]),
            _ => None,
        }
    }
}
