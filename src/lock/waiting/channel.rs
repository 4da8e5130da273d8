//! The announcements about one key, shared by the waiters of an app server.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::announcement;
use crate::clock;
use crate::node::wire::Token;
use crate::protocol::{Announcements, Time};

/// The channel of one key.
#[derive(Debug)]
pub(crate) struct Channel {
    state: Mutex<ChannelState>,
    /// Notified when there is a reason to ask again. At most one task waits for it: the one that has the permit of this app
    /// server.
    changed: Notify,
}

#[derive(Debug)]
struct ChannelState {
    announcements: Announcements<Token>,
    used: Time,
}

impl Channel {
    pub(crate) fn new(id: u64, nodes: usize) -> Self {
        let now = clock::now();
        let state = ChannelState {
            announcements: Announcements::new(id, nodes, now),
            used: now,
        };
        Self {
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    // Messages from the nodes.

    /// We are now subscribed to this node, or not any more.
    pub(crate) fn on_subscribed(&self, node: usize, subscribed: bool) {
        let now = clock::now();
        if self.lock().announcements.on_subscribed(node, subscribed, now) {
            self.changed.notify_one();
        }
    }

    /// Whether we are subscribed to this node.
    pub(crate) fn is_subscribed(&self, node: usize) -> bool {
        self.lock().announcements.is_subscribed(node)
    }

    /// Takes a message that this node delivered.
    pub(crate) fn on_message(&self, node: usize, message: &str) {
        let now = clock::now();
        let announcements = &mut self.lock().announcements;
        if let Some(waited) = announcement::read(message) {
            announcements.on_waited(waited, now);
        } else if let Ok(token) = message.as_bytes().try_into()
            && announcements.on_released(node, token, now)
        {
            self.changed.notify_one();
        }
    }

    /// Another app server, not known yet, is subscribed to this key too.
    pub(crate) fn on_unknown_app_server(&self) {
        self.lock().announcements.on_unknown_app_server(clock::now());
    }

    /// Whether another app server has announced, a moment ago, that it waits or does not wait any more.
    pub(crate) fn is_answered(&self) -> bool {
        self.lock().announcements.is_answered()
    }

    // For the caller that has the permit of this app server.

    /// Takes a step of the protocol with the announcements.
    pub(crate) fn with<T>(&self, step: impl FnOnce(&mut Announcements<Token>) -> T) -> T {
        step(&mut self.lock().announcements)
    }

    /// Something is announced on it, so it is in use.
    pub(crate) fn on_announced(&self) {
        self.lock().used = clock::now();
    }

    /// Waits until there have been more than `seen` reasons to ask again.
    pub(crate) async fn changed(&self, seen: u64) {
        while self.lock().announcements.changes() == seen {
            self.changed.notified().await;
        }
    }

    /// Waits until `time`, or until there is a reason to ask again, or to ask earlier.
    pub(crate) async fn wait_until(&self, time: Time) {
        // Either will do.
        let _ = clock::timeout_at(time, self.changed.notified()).await;
    }

    /// How long the channel has not been used.
    pub(crate) fn idle(&self) -> Duration {
        clock::now() - self.lock().used
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u64) -> String {
        format!("{number:032x}")
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_is_woken_by_a_release_or_at_its_planned_time() {
        let channel = Channel::new(7, 3);
        (0..3).for_each(|node| channel.on_subscribed(node, true));
        let (start, second) = (clock::now(), Duration::from_secs(1));
        let seen = channel.with(|announcements| announcements.changes());
        // The subscription was a reason, too.
        channel.wait_until(start + second * 60).await;
        assert!(clock::now() < start + second);
        let release = async {
            tokio::time::sleep(second).await;
            // A third one would be another reason, to ask earlier.
            (0..2).for_each(|node| channel.on_message(node, &token(1)));
        };
        tokio::join!(channel.wait_until(start + second * 60), release);
        let waited = clock::now() - start;
        assert!(waited >= second && waited < second * 2, "{waited:?}");
        channel.changed(seen).await;
        channel.wait_until(start + second * 3).await;
        assert!(clock::now() >= start + second * 3);
    }
}
