use serde::Serialize;

use super::formulas::wilson;

/// What was seen in virtual time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Simulated {
    /// Sections that were played.
    pub sections: u64,
    /// Of these, the ones that outlasted their lock.
    pub overran: u64,
    /// Events that happened.
    pub events: u64,
    /// Two holders of one lock at the same time, or another law of the lock broken: a bug.
    pub violations: u64,
}

impl Simulated {
    /// The part of the sections that outlasted their lock.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.overran as f64 / (self.sections as f64).max(1.0)
    }

    /// Its 95 % interval.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.overran as f64, (self.sections as f64).max(1.0))
    }
}
