//! The result of a bench: one JSON file. The docs of its fields are the documentation of the format; names that end with `_us` are
//! whole microseconds there, and with `_ns` whole nanoseconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::case_result::{CaseResult, LeftOut};
use super::target::Judged;
use lockstorm_data::model::in_us;
use lockstorm_lab::NodeSettings;
use lockstorm_run::Machine;

/// Everything one bench produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The version of this format: [`BenchRecord::FORMAT`].
    pub format: u32,
    /// The version of Lockstorm.
    pub lockstorm: String,
    /// Whether this build has the feature `peers`.
    pub peers: bool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The machine that it ran on.
    pub machine: Machine,
    /// The processor's name; null where it is unknown.
    pub cpu_model: Option<String>,
    /// The servers as they were started; for one lab after the other, if cases need different ones.
    pub nodes: Vec<NodeSettings>,
    /// The length of the measured part of a round, unless the case changes it.
    #[serde(rename = "time_us", with = "in_us")]
    pub time: Duration,
    /// The length of the load before each measured part, which is not counted.
    #[serde(rename = "warm_up_us", with = "in_us")]
    pub warm_up: Duration,
    /// How long after the end of the load, with all nodes up again, leftover keys were counted.
    #[serde(rename = "orphans_after_us", with = "in_us")]
    pub orphans_after: Duration,
    /// The number of rounds that were asked for.
    pub rounds: usize,
    /// Whether the bench was stopped before its end.
    pub interrupted: bool,
    /// One for each case, in the order in which they ran.
    pub cases: Vec<CaseResult>,
    /// Cases that were asked for and can't be measured here.
    pub left_out: Vec<LeftOut>,
    /// The targets that could be judged.
    pub targets: Vec<Judged>,
}

impl BenchRecord {
    /// The version of the format that this program writes.
    pub const FORMAT: u32 = 3;
}
