use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::network::{Hindrance, Network, OneWay};

/// One direction of a connection, and what the network does to it now.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub network: watch::Receiver<Network>,
    pub path: OneWay,
    /// Counts the bytes that arrive; `None` if nobody wants to know.
    pub carried: Option<Arc<AtomicU64>>,
}

impl Line {
    /// Counts bytes that have arrived.
    pub(super) fn count(&self, bytes: usize) {
        if let Some(carried) = &self.carried {
            carried.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Its present state.
    pub(super) fn state(&mut self) -> Hindrance {
        self.network.borrow_and_update().state(&self.path)
    }

    /// Waits until the network may have changed since [`Line::state`]; `false` if the proxy is closing.
    pub(super) async fn changed(&mut self) -> bool {
        self.network.changed().await.is_ok()
    }

    /// Waits until it is not cut, or the proxy is closing.
    pub(super) async fn uncut(&mut self) {
        while self.state().cut && self.changed().await {}
    }
}
