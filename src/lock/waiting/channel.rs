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

    /// The number of reasons to ask again so far.
    pub(crate) fn changes(&self) -> u64 {
        self.lock().announcements.changes()
    }

    /// Waits until there have been more than `seen` reasons to ask again.
    pub(crate) async fn changed(&self, seen: u64) {
        while self.changes() == seen {
            self.changed.notified().await;
        }
    }

    /// Waits until `planned`, or, once there have been more than `seen` reasons to ask again, until it is our turn; but not
    /// beyond `deadline`. `since` is when our wait began, which is compared with those of others.
    pub(crate) async fn wait_to_ask(&self, since: Time, planned: Time, seen: u64, deadline: Time) {
        loop {
            let now = clock::now();
            let at = self
                .lock()
                .announcements
                .ask_at(planned, seen, since, now)
                .min(deadline);
            if at <= now {
                return;
            }
            tokio::select! {
                () = clock::sleep_until(at) => return,
                () = self.changed.notified() => {}
            }
        }
    }

    /// How long to hold back for app servers that have waited since before `since`.
    pub(crate) fn yield_delay(&self, since: Time) -> Duration {
        self.lock().announcements.yield_delay(since, clock::now())
    }

    /// The upper bound of the random delays that keep callers apart that split the nodes between them.
    pub(crate) fn spread(&self) -> Duration {
        self.lock().announcements.spread()
    }

    /// An attempt took `time`.
    pub(crate) fn on_round_trip(&self, time: Duration) {
        self.lock().announcements.on_round_trip(time);
    }

    /// The message that announces our waiters to the others, the first of which has waited since `since`; `None` if it was
    /// announced already or nobody needs it. `asked`: an attempt of ours was refused, so somebody has the lock.
    pub(crate) fn announce(&self, since: Option<Time>, asked: bool) -> Option<String> {
        let now = clock::now();
        let mut state = self.lock();
        let waited = state.announcements.announce(since, asked, now)?;
        state.used = now;
        Some(announcement::write(&waited))
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
        let far = start + second * 60;
        let seen = channel.changes();
        let release = async {
            tokio::time::sleep(second).await;
            (0..3).for_each(|node| channel.on_message(node, &token(1)));
        };
        tokio::join!(
            channel.wait_to_ask(start, far, seen, far),
            channel.changed(seen),
            release
        );
        let waited = clock::now() - start;
        assert!(waited >= second && waited < second * 2, "{waited:?}");
        assert_eq!(channel.changes(), seen + 1);
        // Without a change, the wait ends at the planned time, or at the deadline.
        channel.wait_to_ask(start, start + second * 3, seen + 1, far).await;
        assert!(clock::now() >= start + second * 3);
        channel.wait_to_ask(start, far, seen + 1, start + second * 4).await;
        assert!(clock::now() >= start + second * 4 && clock::now() < far);
    }
}
