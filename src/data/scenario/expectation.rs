//! Conditions on figures: `redlock.holding >= 32 and redlock.partial == 0`. They start faults, and expectations consist of
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::metrics::{Figures, Metric, figure};

/// Comparisons that must all hold at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trigger {
    /// The text, as the user wrote it.
    pub text: String,
    /// The comparisons.
    pub all: Vec<Expectation>,
}

/// One figure of one arm compared with a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub const fn judged(&self) -> Metric {
        if self.is_from_above() {
            self.metric.peak()
        } else {
            self.metric
        }
    }

    /// Whether it holds, once nothing can change that any more: a figure that only grows has passed its bound. `None` before
    /// that, and always for figures that can fall.
    pub fn decided(&self, figures: &Figures) -> Option<bool> {
        let (metric, bound) = (self.judged(), self.bound);
        if metric.can_fall() {
            return None;
        }
        let value = metric.of(figures);
        match (self.op, self.op.holds(value, bound)) {
            (Op::Less | Op::AtMost, false) => Some(false),
            (Op::Equal, false) if value > bound => Some(false),
            (Op::Greater | Op::AtLeast, true) => Some(true),
            (Op::NotEqual, true) if value > bound => Some(true),
            _ => None,
        }
    }

    /// The figure beside its bound, in words: `redlock: oversold 0 (expected = 0)`.
    pub fn in_words(&self, figures: &Figures) -> String {
        self.with_value(self.metric.is_known(figures).then(|| self.judged().of(figures)))
    }

    /// What it says, beside the value of its figure; `None` if there was nothing to measure.
    pub fn with_value(&self, value: Option<f64>) -> String {
        let title = self.metric.title();
        let number = |value| {
            let number = figure(self.metric, value);
            // A title like `ok/s` says the unit.
            match number.strip_suffix("/s") {
                Some(number) if title.ends_with("/s") => number.to_owned(),
                _ => number,
            }
        };
        let value = value.map_or_else(|| "–".to_owned(), number);
        let bound = number(self.bound);
        format!("{}: {title} {value} (expected {} {bound})", self.arm, self.op.sign())
    }

    /// As in a scenario: `redlock.oversold == 0`.
    pub fn as_written(&self) -> String {
        format!("{}.{} {}", self.arm, self.metric.name(), self.text)
    }

    /// Whether it is an upper bound, which a growing count can break but not reach.
    pub const fn is_from_above(&self) -> bool {
        matches!(self.op, Op::Equal | Op::Less | Op::AtMost)
    }
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Entry;

    fn expect(metric: Metric, op: Op) -> Expectation {
        Expectation {
            arm: "redlock".to_owned(),
            metric,
            op,
            bound: 5.0,
            text: String::new(),
        }
    }

    #[test]
    fn only_what_can_not_change_is_decided_before_the_end() {
        let decided = |op, oversold| {
            let figures = Figures {
                ledger: [(Entry::Oversold, oversold)].into(),
                ..Figures::default()
            };
            expect(Metric::Oversold, op).decided(&figures)
        };
        for (op, expected) in [
            (Op::Less, [None, Some(false), Some(false)]),
            (Op::AtMost, [None, None, Some(false)]),
            (Op::Equal, [None, None, Some(false)]),
            (Op::NotEqual, [None, None, Some(true)]),
            (Op::AtLeast, [None, Some(true), Some(true)]),
            (Op::Greater, [None, None, Some(true)]),
        ] {
            assert_eq!([4, 5, 6].map(|value| decided(op, value)), expected, "{op:?}");
        }
        let figures = Figures {
            throughput: 6.0,
            ledger: [(Entry::LostUpdates, 6), (Entry::LostUpdatesPeak, 6)].into(),
            ..Figures::default()
        };
        for op in [Op::Less, Op::Greater] {
            assert_eq!(expect(Metric::Throughput, op).decided(&figures), None, "{op:?}");
        }
        // What was lost stays lost, though some of it may be made up for.
        assert_eq!(expect(Metric::LostUpdates, Op::Less).decided(&figures), Some(false));
        assert_eq!(expect(Metric::LostUpdates, Op::Greater).decided(&figures), None);
    }

    #[test]
    fn an_expectation_has_the_words_of_the_tables() {
        let figures = Figures {
            throughput: 398.4,
            ..Figures::default()
        };
        assert_eq!(
            expect(Metric::Throughput, Op::AtLeast).in_words(&figures),
            "redlock: ok/s 398 (expected ≥ 5.0)"
        );
        assert_eq!(
            expect(Metric::LostUpdates, Op::Equal).in_words(&figures),
            "redlock: lost updates 0 (expected = 5)"
        );
    }
}
