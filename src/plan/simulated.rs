use std::time::Duration;

use serde::Serialize;

use super::formulas::wilson;
use lockstorm_data::model::in_us;
use lockstorm_lock::simulation::{Report, Samples};

/// What was seen in virtual time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Simulated {
    /// The virtual time that was played, in seconds, of all worlds together.
    #[serde(rename = "elapsed_us", with = "in_us")]
    pub seconds: f64,
    /// Sections that were played.
    pub sections: u64,
    /// Of these, the ones that outlasted their lock.
    pub overran: u64,
    /// Acquires that ended without the lock.
    pub refused: u64,
    /// Locks with two holders at the same time because nodes forgot their keys.
    pub overlaps: u64,
    /// How long locks whose holder died were unavailable.
    pub takeovers: Takeovers,
    /// Events that happened.
    pub events: u64,
    /// A law of the lock broken: a bug.
    pub violations: u64,
    /// It ended before everything was played, since its sections took too many events: messages, renewals, pauses, faults.
    pub ended_early: bool,
}

/// The times from a holder's death until somebody else got its lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Takeovers {
    /// How many times there were.
    pub count: u64,
    /// Their sum in seconds.
    #[serde(rename = "total_us", with = "in_us")]
    pub total: f64,
    /// The longest, in seconds.
    #[serde(rename = "worst_us", with = "in_us")]
    pub worst: f64,
}

impl Takeovers {
    /// Their mean in seconds; 0 if there were none.
    pub fn mean(&self) -> f64 {
        self.total / (self.count as f64).max(1.0)
    }
}

impl Simulated {
    /// What one world gave.
    pub(super) fn of(report: &Report, samples: &Samples, ended_early: bool) -> Self {
        let times = || samples.takeovers.iter().map(Duration::as_secs_f64);
        Self {
            seconds: report.time.as_secs_f64(),
            sections: report.sections,
            overran: report.overran,
            refused: report.refused,
            overlaps: report.overlaps,
            takeovers: Takeovers {
                count: samples.takeovers.len() as u64,
                total: times().sum(),
                worst: times().fold(0.0, f64::max),
            },
            events: report.events,
            violations: report.violations.len() as u64,
            ended_early,
        }
    }

    /// What the worlds of both gave together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            sections: self.sections + other.sections,
            overran: self.overran + other.overran,
            refused: self.refused + other.refused,
            overlaps: self.overlaps + other.overlaps,
            takeovers: Takeovers {
                count: self.takeovers.count + other.takeovers.count,
                total: self.takeovers.total + other.takeovers.total,
                worst: self.takeovers.worst.max(other.takeovers.worst),
            },
            events: self.events + other.events,
            violations: self.violations + other.violations,
            ended_early: self.ended_early || other.ended_early,
        }
    }

    /// The part of the sections that outlasted their lock.
    pub fn p(&self) -> f64 {
        self.overran as f64 / (self.sections as f64).max(1.0)
    }

    /// Its 95 % interval.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.overran as f64, (self.sections as f64).max(1.0))
    }
}
