//! Conditions on figures: `redlock.holding >= 32 and redlock.partial == 0`. They start faults, and expectations consist of
//! them.

use serde::{Deserialize, Serialize};

use crate::metrics::Metric;

/// Comparisons that must all hold at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The text, as the user wrote it.
    pub text: String,
    /// The comparisons.
    pub all: Vec<Expectation>,
}

/// One figure of one arm compared with a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The arm's name.
    pub arm: String,
    /// The figure.
    pub metric: Metric,
    /// The comparison.
    pub op: Op,
    /// The bound in the metric's own unit (durations in microseconds).
    pub bound: f64,
    /// The text, as the user wrote it, without the arm and metric: `< 50ms`.
    pub text: String,
}

impl Expectation {
    /// The figure that decides. Damage that was made up for later was done all the same, so an upper bound is compared
    /// with its peak.
    #[must_use]
    pub const fn judged(&self) -> Metric {
        if self.is_from_above() {
            self.metric.peak()
        } else {
            self.metric
        }
    }

    /// Whether it is an upper bound, which a growing count can break but not reach.
    #[must_use]
    pub const fn is_from_above(&self) -> bool {
        matches!(self.op, Op::Equal | Op::Less | Op::AtMost)
    }
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the signs say it")]
pub enum Op {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = "!=")]
    NotEqual,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = ">")]
    Greater,
}

impl Op {
    /// Its sign, as users write it.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "≤",
            Self::Equal => "=",
            Self::NotEqual => "≠",
            Self::AtLeast => "≥",
            Self::Greater => ">",
        }
    }

    /// Whether `value op bound` holds.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Equal => (value - bound).abs() < f64::EPSILON,
            Self::NotEqual => (value - bound).abs() >= f64::EPSILON,
            Self::AtLeast => value >= bound,
            Self::Greater => value > bound,
        }
    }
}
