use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::ConsequenceKind;

/// Why a fault has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoEffect {
    /// It could not be verified for so many seconds, and may still come.
    NotVerified {
        /// The seconds.
        within_s: u64,
    },
    /// It failed.
    Failed {
        /// The error of the lab.
        quoted: String,
    },
}

/// What an event meant for the held locks of one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmConsequence {
    /// The name of the arm.
    pub arm: String,
    /// What it meant.
    #[serde(flatten)]
    pub kind: ConsequenceKind,
}

/// An arm whose locks can't be acquired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// The name of the arm.
    pub arm: String,
    /// Why.
    #[serde(flatten)]
    pub why: Shortage,
}

/// Why locks can't be acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Shortage {
    /// The only node of the lock is down.
    NoNode,
    /// No node is the master.
    NoMaster,
    /// The cluster takes no writes.
    ClusterDown,
    /// Too few nodes are up.
    NoQuorum {
        /// How many are up.
        up: usize,
        /// How many there are.
        of: usize,
    },
}
