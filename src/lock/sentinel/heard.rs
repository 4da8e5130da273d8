//! What has been heard of a master, for all tasks that ask Sentinels and all that want to know.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::opinions::{Opinion, Opinions};
use crate::cause::Cause;
use crate::node::place::Named;

/// What has been heard of a master.
pub(super) struct Heard {
    opinions: Mutex<Opinions>,
    named: watch::Sender<Named>,
}

impl Heard {
    /// Nothing yet, of so many Sentinels.
    pub(super) fn new(sentinels: usize) -> Self {
        Self {
            opinions: Mutex::new(Opinions::new(sentinels)),
            named: watch::Sender::new(Err(Cause::NoMaster)),
        }
    }

    /// Where the master is, now and later.
    pub(super) fn named(&self) -> watch::Receiver<Named> {
        self.named.subscribe()
    }

    /// Waits until nobody wants to know any more.
    pub(super) async fn abandoned(&self) {
        self.named.closed().await;
    }

    /// Sentinel `index` says this of the master.
    pub(super) fn hear(&self, index: usize, opinion: Opinion) {
        // Sent while the opinions are locked, so that the last one sent is the last one formed.
        let mut opinions = self.opinions.lock().unwrap_or_else(PoisonError::into_inner);
        let named = opinions.hear(index, opinion);
        self.named.send_if_modified(|before| {
            let changed = *before != named;
            *before = named;
            changed
        });
    }
}
