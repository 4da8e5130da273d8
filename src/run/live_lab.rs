use std::collections::BTreeMap;
use std::sync::Arc;

use super::lab_watch::LabWatch;
use crate::lab::{Lab, NodeName, NodeStats};

/// The lab of a run, and its last known state.
pub(super) struct LiveLab {
    pub handle: Arc<Lab>,
    /// For example `redis-server 7.0.15`.
    pub server_name: Arc<str>,
    /// Notices changes that nobody ordered.
    pub watch: LabWatch,
    /// The newest statistics of the lock nodes that answered.
    pub stats: BTreeMap<NodeName, NodeStats>,
}
