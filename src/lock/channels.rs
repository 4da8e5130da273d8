//! The channels of all keys that an app server waits for, and the connections on which nodes tell of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use super::{Nodes, channel::Channel, feed, wire};

/// A channel that nobody has used for this long is left.
const IDLE: Duration = Duration::from_secs(2);

/// Opened when somebody waits for the first time: who never waits has no connections for it.
#[derive(Debug)]
pub(super) struct Channels {
    /// This app server among all others.
    id: u64,
    nodes: Nodes,
    /// By key.
    channels: Mutex<HashMap<Arc<str>, Arc<Channel>>>,
    /// For each node its connection.
    feeds: OnceLock<Vec<Feed>>,
}

#[derive(Debug)]
struct Feed {
    /// Where it hears of new keys.
    keys: mpsc::UnboundedSender<Arc<str>>,
    task: JoinHandle<()>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Channels {
    pub(super) fn new(nodes: Nodes) -> Self {
        Self {
            id: rand::random(),
            nodes,
            channels: Mutex::default(),
            feeds: OnceLock::new(),
        }
    }

    /// The channel of a key, if it is in use.
    pub(super) fn get(&self, key: &str) -> Option<Arc<Channel>> {
        self.lock().get(key).map(Arc::clone)
    }

    /// The channel of a key; asks the nodes to tell us, and does not wait for them.
    pub(super) fn join(self: &Arc<Self>, key: &str) -> Arc<Channel> {
        let mut channels = self.lock();
        if let Some(channel) = channels.get(key) {
            return Arc::clone(channel);
        }
        let key = Arc::<str>::from(key);
        let channel = Arc::new(Channel::new(self.id, self.nodes.len()));
        channels.insert(Arc::clone(&key), Arc::clone(&channel));
        drop(channels);
        for feed in self.feeds.get_or_init(|| self.open()) {
            // Its task ends only with the runtime.
            let _ = feed.keys.send(Arc::clone(&key));
        }
        channel
    }

    fn open(self: &Arc<Self>) -> Vec<Feed> {
        let open = |index| {
            let (sender, keys) = mpsc::unbounded_channel();
            let (address, options) = self.nodes.address(index);
            let feed = feed::run(Arc::downgrade(self), index, address.clone(), options, keys);
            Feed {
                keys: sender,
                task: tokio::spawn(feed),
            }
        };
        (0..self.nodes.len()).map(open).collect()
    }

    /// Tells the other app servers about those of this one who wait for the key. `asked`: an attempt of theirs failed.
    pub(super) fn announce(
        &self,
        key: &str,
        channel: &Channel,
        since: Option<Instant>,
        asked: bool,
        timeout: Duration,
    ) {
        if let Some(announcement) = channel.announce(since, asked) {
            self.nodes.tell(&wire::publish(key, &announcement), timeout);
        }
    }

    /// Node `index` told somebody of a release of ours. If it tells us, too, we hear from the others whether they wait.
    pub(super) fn told(self: &Arc<Self>, index: usize, key: &str) {
        if !self.get(key).is_some_and(|channel| channel.is_subscribed(index)) {
            self.join(key).note_others();
        }
    }

    /// All keys in use.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        self.lock().keys().map(Arc::clone).collect()
    }

    /// Node `index` does not tell us any more.
    pub(super) fn lose(&self, index: usize) {
        let channels: Vec<_> = self.lock().values().map(Arc::clone).collect();
        for channel in channels {
            channel.subscribe(index, false);
        }
    }

    /// Forgets channels that nobody uses.
    pub(super) fn sweep(&self) {
        let is_used = |channel: &Arc<Channel>| Arc::strong_count(channel) > 1 || channel.idle() < IDLE;
        self.lock().retain(|_, channel| is_used(channel));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
