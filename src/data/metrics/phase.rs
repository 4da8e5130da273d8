use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::histogram::HistogramText;
use super::sums::Time;
use crate::model::in_us;

/// How long things took in one arm between two faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTimes {
    /// When it began, to the tenth of a second. It lasts until the next one begins.
    #[serde(rename = "from_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub from: f64,
    /// The events with which it began; several if they took effect in the same tenth of a second. Those of the last phase may have taken
    /// effect later.
    pub events: Vec<u64>,
    /// Each of the times as a whole histogram in microseconds, by when it was counted. In the last phase that is also what was counted
    /// after the load had ended.
    pub histograms: BTreeMap<Time, HistogramText>,
}
