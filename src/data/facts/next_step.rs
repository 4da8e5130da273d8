use std::time::Duration;

use crate::metrics::Metric;
use crate::model::{Action, Condition, Target, Targets};
use crate::scenario::Op;

/// What the schedule of a scenario does next by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// The load ends.
    LoadEnds,
    /// A fault begins or ends.
    Fault {
        /// What is done.
        action: Action,
        /// Whom it hits.
        targets: Targets,
        /// Whether they come back at once.
        is_bounce: bool,
        /// What that waits for, if its time is not known.
        waits_for: Option<Awaited>,
    },
    /// The next act is impossible, and only a key makes it possible again.
    Blocked(BlockedAct),
}

/// What a fault waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Awaited {
    /// A figure.
    Figure {
        /// The name of the arm; `None`: of each arm.
        arm: Option<String>,
        /// The figure.
        figure: Metric,
        /// The comparison.
        op: Op,
        /// What it is compared with.
        bound: f64,
    },
    /// A condition of the scenario.
    Condition {
        /// As the scenario has it.
        quoted: String,
    },
    /// The effect of another fault.
    Fault {
        /// Its number, from 1.
        fault: usize,
        /// How long after that.
        delay: Duration,
    },
}

/// An act of a scenario that is impossible as things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedAct {
    /// Its number, from 1.
    pub act: usize,
    /// What it begins with.
    pub action: Action,
    /// Whether its target comes back at once.
    pub is_bounce: bool,
    /// Its target.
    pub target: Target,
    /// What the target is already.
    pub is: Condition,
}
