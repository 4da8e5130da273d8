//! The channels of all keys that an app server waits for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::channel::Channel;

/// A channel that nobody has used for this long is removed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The channels by key.
#[derive(Debug)]
pub(crate) struct Channels {
    /// Identifies this app server.
    id: u64,
    nodes: usize,
    by_key: Mutex<HashMap<Arc<[u8]>, Arc<Channel>>>,
}

impl Channels {
    /// No channels yet; each will have `nodes` nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            id: rand::random(),
            nodes,
            by_key: Mutex::default(),
        }
    }

    /// The channel of a key, if it is in use.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Channel>> {
        self.lock().get(key).map(Arc::clone)
    }

    /// The channel of a key, and the key if the channel is new, so that the caller must subscribe to it on the nodes.
    pub(crate) fn join(&self, key: &[u8]) -> (Arc<Channel>, Option<Arc<[u8]>>) {
        let mut channels = self.lock();
        if let Some(channel) = channels.get(key) {
            return (Arc::clone(channel), None);
        }
        let key = Arc::<[u8]>::from(key);
        let channel = Arc::new(Channel::new(self.id, self.nodes));
        channels.insert(Arc::clone(&key), Arc::clone(&channel));
        (channel, Some(key))
    }

    /// All keys in use.
    pub(crate) fn keys(&self) -> Vec<Arc<[u8]>> {
        self.lock().keys().map(Arc::clone).collect()
    }

    /// The subscriptions on this node have ended.
    pub(crate) fn on_disconnected(&self, node: usize) {
        let channels: Vec<_> = self.lock().values().map(Arc::clone).collect();
        for channel in channels {
            channel.on_subscribed(node, false);
        }
    }

    /// Removes channels that nobody uses.
    pub(crate) fn sweep(&self) {
        let is_used = |channel: &Arc<Channel>| Arc::strong_count(channel) > 1 || channel.idle() < IDLE_TIMEOUT;
        self.lock().retain(|_, channel| is_used(channel));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<[u8]>, Arc<Channel>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
