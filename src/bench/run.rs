//! The result of one contender in one round.

use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::figures::Figures;

/// One contender in one round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The contender.
    pub contender: Contender,
    /// Why it could not be measured.
    pub error: Option<String>,
    /// The measured part.
    pub figures: Option<Figures>,
    /// The load on healthy nodes, just before; only in cases that break a node.
    pub baseline: Option<Figures>,
    /// The mean time of an acquire without contention, before the load; only if tasks share a key.
    pub uncontended_us: Option<f64>,
    /// The memory of this process before the measured part, MiB.
    pub rss_before_mib: Option<f64>,
    /// The memory of this process after the measured part, MiB.
    pub rss_after_mib: Option<f64>,
    /// How long after a node's first answer a lock had the votes of all nodes; only if a node comes back, and the client
    /// reports votes.
    pub back_in_use_ms: Option<f64>,
    /// Keys on the node that was up, 100 ms after the load ended; only without a quorum.
    pub survivor_keys: Option<u64>,
    /// Locks that were held and renewed, but lost all the same; only in cases that hold locks until the end.
    pub lost: Option<u64>,
    /// Leftover keys on each node.
    pub orphans: Vec<u64>,
}
