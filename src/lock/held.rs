//! The behaviour that all kinds of held locks share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock;
use crate::protocol::{Due, Lease, Renewal, Time};

/// A held lock of any kind, as seen by renewal, by the signal of its loss, and by those who wait for it.
pub(crate) trait Held: fmt::Debug + Send + Sync {
    /// Its lease: until when it may be relied on.
    fn lease(&self) -> Lease;

    /// Checks at `now` whether to signal the loss: `None` if so, or else when to check again.
    fn on_loss_timeout(&self, now: Time) -> Option<Time>;

    /// Notified when the lock is lost, or its validity ends, earlier than was known.
    fn sooner(&self) -> &Notify;

    /// The times of its renewals, one every `interval`.
    fn renewal(&self, interval: Duration) -> Renewal;

    /// Sends what is due for its renewal, and does not wait.
    fn renew(self: Arc<Self>, due: Due);

    /// Takes it back in the background. Only the first call does anything.
    fn take_back(self: Arc<Self>);
}

/// The caller's lock, or its attempt at one. Dropping this takes the lock back in the background.
#[derive(Debug)]
pub(crate) struct Owned<H: Held>(pub(crate) Arc<H>);

impl<H: Held> Deref for Owned<H> {
    type Target = Arc<H>;

    fn deref(&self) -> &Arc<H> {
        &self.0
    }
}

impl<H: Held> Drop for Owned<H> {
    fn drop(&mut self) {
        Arc::clone(&self.0).take_back();
    }
}

/// Resolves when the lock is lost: at the end of its validity, or when too few nodes have its key.
pub(crate) async fn lost(held: &impl Held) {
    loop {
        let told = held.sooner().notified();
        tokio::pin!(told);
        // From here on no notification is missed, even one that comes before the wait.
        told.as_mut().enable();
        let Some(look_again) = held.on_loss_timeout(clock::now()) else {
            return;
        };
        tokio::select! {
            () = told => {}
            () = clock::doze_until(look_again) => {}
        }
    }
}
