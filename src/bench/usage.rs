//! What a phase used of processors, and what the nodes and clients counted in it.

use std::time::Duration;

use super::nodes::NodeCounts;

/// What was used between the two ends of a phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub wall: Duration,
    pub client_cpu: f64,
    /// Of each node, with the time over which it was counted; none of one that was not up at the end.
    pub nodes: Vec<Option<(NodeCounts, Duration)>>,
    /// None if a client does not count them.
    pub attempts: Option<u64>,
}
