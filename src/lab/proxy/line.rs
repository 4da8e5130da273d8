use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::network::{Hindrance, Network, OneWay};

/// What a slow link carries, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lane(Mutex<Option<Instant>>);

impl Lane {
    /// When so many bytes have passed that are sent now, at this speed in bytes a second.
    pub(super) fn book(&self, bytes: usize, speed: u64) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = free.unwrap_or_else(Instant::now).max(Instant::now());
        let end = begin + Duration::from_secs_f64(bytes as f64 / speed as f64);
        *free = Some(end);
        end
    }

    /// Lets what is sent from now on pass at once.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// One direction of a connection, and what the network does to it now.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub network: watch::Receiver<Network>,
    pub path: OneWay,
    /// What it shares with all others through the same door.
    pub lane: Arc<Lane>,
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
