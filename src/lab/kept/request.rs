use serde::{Deserialize, Serialize};

use super::choice::Choice;

/// What can be asked of the process that keeps a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How its hosts are.
    Status,
    /// Break or mend hosts.
    Act {
        /// What is done to the hosts.
        verb: Verb,
        /// The hosts to which it is done.
        hosts: Choice,
    },
    /// Take the lab down.
    Down,
}

/// What can be done to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// End its processes at once.
    Kill,
    /// Stop its processes in the middle of their work.
    Pause,
    /// Undo whatever is wrong with it.
    Restore,
}
