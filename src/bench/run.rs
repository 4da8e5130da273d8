//! What one contender did in one round.

use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::figures::Figures;

/// One contender in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who.
    pub contender: Contender,
    /// Why it could not be measured.
    pub error: Option<String>,
    /// The measured part.
    pub figures: Option<Figures>,
    /// The same load on healthy nodes, just before; only where the case breaks one.
    pub baseline: Option<Figures>,
    /// The mean time of an acquire that nobody competes with, before the load; only where tasks share a key.
    pub uncontended_us: Option<f64>,
    /// The memory of this process before the measured part, MiB.
    pub rss_before_mib: Option<f64>,
    /// The same after it.
    pub rss_after_mib: Option<f64>,
    /// From a node's first answer until a lock had the votes of all nodes; only where a node comes back, and only of
    /// clients that tell votes.
    pub back_in_use_ms: Option<f64>,
    /// Keys on the node that was up, 100 ms after the load ended; only without a quorum.
    pub survivor_keys: Option<u64>,
    /// Locks that were held and renewed, and lost all the same; only where locks are held for good.
    pub lost: Option<u64>,
    /// Keys left behind on each node.
    pub orphans: Vec<u64>,
}

impl Run {
    pub(super) const fn new(contender: Contender) -> Self {
        Self {
            contender,
            error: None,
            figures: None,
            baseline: None,
            uncontended_us: None,
            rss_before_mib: None,
            rss_after_mib: None,
            back_in_use_ms: None,
            survivor_keys: None,
            lost: None,
            orphans: Vec::new(),
        }
    }
}
