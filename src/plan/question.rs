use serde::Serialize;

use super::pauses::{Outages, Pauses};
use super::read::HoldsRead;
use super::spread::Spread;
use lockstorm_data::model::in_us;

/// The overlaps that may happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Risk {
    /// So many a second.
    PerSecond(f64),
    /// This part of all sections, above 0 and below 1.
    OfSections(f64),
}

/// What a setting must achieve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// The most sections a day that may overlap with another holder's.
    pub overlaps_per_day: f64,
    /// The longest that others may have to wait after a holder's crash, in seconds; `None` if that does not matter.
    #[serde(rename = "takeover_us", with = "in_us")]
    pub takeover: Option<f64>,
}

/// What is known of the work, of the network, and of what goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// How long a section takes, pauses not included unless they were measured with it.
    pub hold: Spread,
    /// What of a file that was read from; `None` if it was not.
    pub holds_read: Option<HoldsRead>,
    /// Some of these with their weights.
    #[serde(skip)]
    pub(super) holds: Vec<(f64, f64)>,
    /// How long one node takes to answer.
    pub round_trip: Spread,
    /// Pauses of the app servers.
    pub pauses: Pauses,
    /// Outages of the lock nodes; `None` if they are not considered.
    pub outages: Option<Outages>,
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

/// What is hardly ever exceeded: one of a thousand pauses is longer.
const LONGEST_PAUSE: f64 = 1e-3;
/// How much longer a pause should be survived.
const ROOM: f64 = 1.5;
/// Also where no pauses are known, one of so many seconds should be survived: machines are suspended, moved and overloaded.
pub const LEAST_PAUSE: f64 = 1.0;

impl Question {
    /// The pause in seconds that a setting should survive: half as long again as what one of 1,000 pauses exceeds, and at least 1.
    pub fn pause_with_room(&self) -> f64 {
        (ROOM * self.pauses.length.quantile_beyond(LONGEST_PAUSE)).max(LEAST_PAUSE)
    }

    /// The question for sections of this length on so many nodes; with 1 section a second, each waited for, no pauses, no
    /// crashes, and a goal of one overlap in a million days.
    pub fn new(hold: Spread, round_trip: Spread, nodes: usize) -> Self {
        Self {
            holds: hold.values(),
            hold,
            holds_read: None,
            round_trip,
            pauses: Pauses {
                per_second: 0.0,
                length: Spread::Constant(0.0),
                in_holds: false,
            },
            outages: None,
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
