//! The subscriptions of an app server to the keys that it waits for, and its announcements to other app servers.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::announcement;
use super::channel::Channel;
use super::channels::Channels;
use super::feed::Feed;
use super::silence::Silence;
use crate::clock;
use crate::node::wire;
use crate::nodes::Nodes;
use crate::protocol::WaitAnnouncement;

/// Subscriber connections are opened when a caller has to wait for the first time; an app server in which nobody waits has
/// none.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    nodes: Nodes,
    channels: Arc<Channels>,
    /// One subscriber connection for each node.
    feeds: OnceLock<Vec<Feed>>,
    /// The subscribers of each node.
    looks: Vec<Look>,
}

/// What is known of the subscribers of one node.
#[derive(Debug, Default)]
struct Look {
    /// Whether the last release was delivered to anybody; most are to nobody.
    delivers: AtomicBool,
    /// The silent ones, and the channel on which an answer is awaited.
    state: Mutex<(Silence, Weak<Channel>)>,
}

impl Subscriptions {
    pub(crate) fn new(nodes: Nodes) -> Self {
        Self {
            channels: Arc::new(Channels::new(nodes.len())),
            looks: (0..nodes.len()).map(|_| Look::default()).collect(),
            nodes,
            feeds: OnceLock::new(),
        }
    }

    /// The channel of a key, if it is in use.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Channel>> {
        self.channels.get(key)
    }

    /// The channel of a key. Subscribes to it on the nodes if it is new, and does not wait for them.
    pub(crate) fn join(&self, key: &[u8]) -> Arc<Channel> {
        let (channel, new) = self.channels.join(key);
        if let Some(key) = new {
            let open = |node| Feed::open(&self.channels, node, &self.nodes);
            let feeds = self.feeds.get_or_init(|| (0..self.nodes.len()).map(open).collect());
            for feed in feeds {
                feed.subscribe(&key);
            }
        }
        channel
    }

    /// Announces to the other app servers how long the first waiter of this one has waited for the key.
    pub(crate) fn announce(&self, key: &[u8], channel: &Channel, waited: &WaitAnnouncement) {
        channel.on_announced();
        self.nodes.tell(&wire::publish(key, &announcement::write(waited)));
    }

    /// This node delivered our release to so many subscribers. If they are others, and not known to be silent, we join the
    /// channel, so that their announcements reach us.
    pub(crate) fn on_release_delivered(&self, node: usize, key: &[u8], subscribers: usize) {
        let look = &self.looks[node];
        if subscribers == 0 && !look.delivers.load(Relaxed) {
            return;
        }
        look.delivers.store(subscribers > 0, Relaxed);
        let ours = self.get(key).is_some_and(|channel| channel.is_subscribed(node));
        let others = subscribers.saturating_sub(usize::from(ours));
        let mut state = look.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = state.1.upgrade().is_some_and(|channel| channel.is_answered());
        if state.0.on_delivered(others, answered, clock::now()) && !ours {
            let channel = self.join(key);
            channel.on_unknown_app_server();
            state.1 = Arc::downgrade(&channel);
        }
    }
}
