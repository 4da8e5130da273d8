//! What a bench produced: one JSON file. `docs` of each field are the format's documentation.

use serde::{Deserialize, Serialize};

use super::case_result::{CaseResult, LeftOut};
use super::target::Judged;
use crate::lab::NodeSettings;
use crate::run::Machine;

/// Everything one bench produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The version of this format: [`BenchRecord::FORMAT`].
    pub format: u32,
    /// The version of lockstorm.
    pub lockstorm: String,
    /// Whether this build has the feature `peers`.
    pub peers: bool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Where it ran.
    pub machine: Machine,
    /// The processor's name; none where it can't be told.
    pub cpu_model: Option<String>,
    /// The servers as they were started: lab after lab, where cases need different ones.
    pub nodes: Vec<NodeSettings>,
    /// How long the measured part of a round takes where the case does not stretch it.
    pub time_s: f64,
    /// Load before each measured part that is not counted.
    pub warm_up_ms: f64,
    /// How long after the load, all nodes being up again, keys left behind were counted.
    pub orphans_after_ms: f64,
    /// Rounds that were asked for.
    pub rounds: usize,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// One for each case, in the order in which they ran.
    pub cases: Vec<CaseResult>,
    /// Cases that were asked for and can't be measured here.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// The targets that could be judged.
    pub targets: Vec<Judged>,
}

impl BenchRecord {
    /// The version of the format that this program writes.
    pub const FORMAT: u32 = 2;
}
