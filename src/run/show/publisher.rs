use std::sync::Arc;

use tokio::sync::watch;

use crate::show::snapshot::Snapshot;

/// Publishes snapshots.
#[derive(Debug)]
pub(crate) struct Publisher {
    snapshots: watch::Sender<Arc<Snapshot>>,
    /// The number of the newest snapshot.
    pub number: u64,
}

impl Publisher {
    /// Continues after the snapshots of the set-up.
    pub fn new(snapshots: watch::Sender<Arc<Snapshot>>) -> Self {
        let number = snapshots.borrow().number;
        Self { snapshots, number }
    }

    /// Sends a snapshot, which must have the next number.
    pub fn send(&mut self, snapshot: Snapshot) {
        self.number = snapshot.number;
        self.snapshots.send_replace(Arc::new(snapshot));
    }
}
