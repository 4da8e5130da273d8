use std::collections::BTreeMap;
use std::sync::Arc;

use super::lab_watch::LabWatch;
use crate::lab::{Lab, NodeName, NodeStats};

/// The lab of a run, and what is known of it.
pub(super) struct LiveLab {
    pub handle: Arc<Lab>,
    /// For example `redis-server 7.0.15`.
    pub server_name: Arc<str>,
    /// What changes in it without an order.
    pub watch: LabWatch,
    /// What the lock nodes that answered said of themselves last.
    pub stats: BTreeMap<NodeName, NodeStats>,
}
