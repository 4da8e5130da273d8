//! The subscriptions of an app server to the keys that it waits for, and its announcements to other app servers.

use std::sync::{Arc, OnceLock};

use super::announcement;
use super::channel::Channel;
use super::channels::Channels;
use super::feed::Feed;
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
}

impl Subscriptions {
    pub(crate) fn new(nodes: Nodes) -> Self {
        Self {
            channels: Arc::new(Channels::new(nodes.len())),
            nodes,
            feeds: OnceLock::new(),
        }
    }

    /// The channel of a key, if it is in use.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Channel>> {
        self.channels.get(key)
    }

    /// The channel of a key. Subscribes to it on the nodes if it is new, and does not wait for them.
    pub(crate) fn join(&self, key: &str) -> Arc<Channel> {
        let (channel, new) = self.channels.join(key);
        if let Some(key) = new {
            let open = |node| Feed::open(&self.channels, node, self.nodes.place(node));
            let feeds = self.feeds.get_or_init(|| (0..self.nodes.len()).map(open).collect());
            for feed in feeds {
                feed.subscribe(&key);
            }
        }
        channel
    }

    /// Announces to the other app servers how long the first waiter of this one has waited for the key.
    pub(crate) fn announce(&self, key: &str, waited: &WaitAnnouncement) {
        self.nodes.tell(&wire::publish(key, &announcement::write(waited)));
    }

    /// This node delivered our release to a subscriber. If we are not subscribed there ourselves, we join the channel, so
    /// that the others' announcements reach us.
    pub(crate) fn on_release_delivered(&self, node: usize, key: &str) {
        if !self.get(key).is_some_and(|channel| channel.is_subscribed(node)) {
            self.join(key).on_unknown_app_server();
        }
    }
}
