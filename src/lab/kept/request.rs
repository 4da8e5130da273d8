use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::choice::Choice;
use lockstorm_data::model::{Action, in_us};

/// What can be asked of the process that keeps a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How its hosts are.
    Status,
    /// Break or mend hosts or links.
    Act {
        /// What is done to them.
        deed: Deed,
        /// To whom it is done.
        on: Choice,
    },
    /// What was done to it: what comes after the entry with this number.
    Log {
        /// The number; 0 for all.
        after: u64,
    },
    /// Take the lab down.
    Down,
}

/// What can be done to a host or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// An action, as in a scenario.
    Do {
        /// The action.
        action: Action,
        /// How long after its verified effect it is undone; `None`: it stays.
        #[serde(rename = "lasts_us", with = "in_us")]
        lasts: Option<Duration>,
    },
    /// Undo whatever is wrong with it.
    Restore,
}
