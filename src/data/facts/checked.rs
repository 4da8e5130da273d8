use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caveat::Caveat;
use crate::model::CheckResult;
use crate::scenario::Expectation;

/// An expectation and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedExpectation {
    /// The expectation, as in the scenario.
    pub expectation: Expectation,
    /// The figure that it was compared with (durations in microseconds); null if there was nothing to measure.
    pub value: Option<f64>,
    /// The result.
    pub result: CheckResult,
    /// Why it is inconclusive; null if it is not.
    pub reason: Option<NotProven>,
}

/// Why a figure proves nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotProven {
    /// Something casts doubt on it.
    Doubted {
        /// What.
        caveat: Caveat,
        /// Whether it makes all figures worthless.
        is_void: bool,
    },
    /// There was nothing to measure.
    NothingToMeasure,
    /// Sections that were stalled until their lock had expired may have changed it.
    ByStalls {
        /// By how much at most, in the figure's unit.
        up_to: f64,
    },
    /// A lock was still unavailable at the end.
    StillUnavailable,
    /// All locks were still unavailable at the end.
    AllStillUnavailable,
    /// Double holds could not be judged.
    Unjudged {
        /// How many.
        double_holds: u64,
    },
    /// Requests still waited at the end, and their times are not in it.
    StillWaiting {
        /// How many.
        requests: u64,
    },
    /// The damage could not show yet.
    NotMeasurable,
}
