use serde::Serialize;

use super::pauses::Pauses;
use super::spread::Spread;

/// What a setting must achieve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// The most sections a day that may overlap with another holder's.
    pub overlaps_per_day: f64,
    /// The longest that others may have to wait after a holder's crash, in seconds; `None` if that does not matter.
    pub takeover: Option<f64>,
}

/// What is known of the work, of the network, and of what goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// How long a section takes, pauses not included unless they were measured with it.
    pub hold: Spread,
    /// Some of these with their weights.
    #[serde(skip)]
    pub(super) holds: Vec<(f64, f64)>,
    /// How long one node takes to answer.
    pub round_trip: Spread,
    /// Pauses of the app servers.
    pub pauses: Pauses,
    /// Lock nodes, 1 to 9.
    pub nodes: usize,
    /// Sections a second, of all app servers together.
    pub per_second: f64,
    /// How many of the sections that outlast their lock overlap with another: those of which somebody waits for the same lock, 0
    /// to 1.
    pub contended: f64,
    /// Crashes a second of an app server while it holds a lock.
    pub crashes_per_second: f64,
    /// The sections of a run that is to check the answer, if there is one.
    pub sections: Option<u64>,
    /// What a setting must achieve.
    pub goal: Goal,
}

impl Question {
    /// The question for sections of this length on so many nodes; with 1 section a second, each waited for, no pauses, no
    /// crashes, and a goal of one overlap in a million days.
    #[must_use]
    pub fn new(hold: Spread, round_trip: Spread, nodes: usize) -> Self {
        Self {
            holds: hold.values(),
            hold,
            round_trip,
            pauses: Pauses {
                per_second: 0.0,
                length: Spread::Constant(0.0),
                in_holds: false,
            },
            nodes,
            per_second: 1.0,
            contended: 1.0,
            crashes_per_second: 0.0,
            sections: None,
            goal: Goal {
                overlaps_per_day: 1e-6,
                takeover: None,
            },
        }
    }
}
