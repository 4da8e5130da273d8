//! What all kinds of locks have in common once they are held.

use std::{fmt, ops::Deref, sync::Arc, time::Duration};

use tokio::sync::Notify;

use crate::{
    clock,
    protocol::{Due, Lease, Renewal, Time},
};

/// A lock that is held, of whatever kind, as renewal, loss and those who wait for it see it.
pub(crate) trait Held: fmt::Debug + Send + Sync {
    /// Until when it may be relied on.
    fn lease(&self) -> Lease;

    /// The time to signal the loss may have come: none if so, or when to look again.
    fn on_loss_timeout(&self, now: Time) -> Option<Time>;

    /// Is notified when the lock is lost, or its validity ends, earlier than was known.
    fn sooner(&self) -> &Notify;

    /// When it is to be renewed, if every `interval`.
    fn renewal(&self, interval: Duration) -> Renewal;

    /// Does what is due for its renewal, and does not wait.
    fn renew(self: Arc<Self>, due: Due);

    /// Takes it back in the background. Only the first call does anything.
    fn take_back(self: Arc<Self>);
}

/// The caller's lock, or attempt at one. Dropping it takes it back, in the background.
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
        // From here on nothing is missed, also if it happens before the wait.
        told.as_mut().enable();
        let Some(look_again) = held.on_loss_timeout(clock::now()) else {
            return;
        };
        tokio::select! {
            () = told => {}
            () = clock::sleep_until(look_again) => {}
        }
    }
}
