use serde::{Deserialize, Serialize};

use lockstorm_data::model::Target;

/// What became of a host or a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// Which one.
    pub target: Target,
    /// Whether it is as it was meant to be.
    pub effect: Effect,
    /// Since when, in microseconds of the machine's `CLOCK_MONOTONIC`, if that was verified.
    pub effect_us: Option<i64>,
    /// What was verified, or what is in the way, in words.
    pub words: String,
}

impl Acted {
    /// Whether it is as it was meant to be.
    pub const fn is_well(&self) -> bool {
        matches!(self.effect, Effect::Verified | Effect::Already)
    }

    /// This, and then what became of the same target.
    #[must_use]
    pub(super) fn then(self, mut next: Self) -> Self {
        next.words = format!("{}; {}", self.words, next.words);
        next
    }
}

/// What became of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Its effect was verified.
    Verified,
    /// The target was already as it was meant to be.
    Already,
    /// The effect was not verified in time; it may still come.
    Late,
    /// It failed.
    Failed,
}
