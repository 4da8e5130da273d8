//! The processor time that a phase used, and what nodes and clients counted in it.

use std::time::Duration;

use super::nodes::NodeCounts;

/// What was used between the two ends of a phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub wall: Duration,
    pub client_cpu: f64,
    /// For each node its counts, with the time over which they were counted; `None` if it was not up at the end.
    pub nodes: Vec<Option<(NodeCounts, Duration)>>,
    /// `None` if a client does not count its attempts.
    pub attempts: Option<u64>,
}
