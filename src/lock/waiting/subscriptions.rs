//! What an app server hears from the nodes about keys that it waits for, and what it tells other app servers.

use std::sync::{Arc, OnceLock};

use super::{channel::Channel, channels::Channels, feed::Feed};
use crate::{Nodes, node::wire, protocol::Time};

/// Connections for it are opened when somebody waits for the first time: who never waits has none.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    nodes: Nodes,
    channels: Arc<Channels>,
    /// For each node its connection.
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

    /// The channel of a key; asks the nodes to tell us, and does not wait for them.
    pub(crate) fn join(&self, key: &str) -> Arc<Channel> {
        let (channel, new) = self.channels.join(key);
        if let Some(key) = new {
            let open = |node| Feed::open(&self.channels, node, self.nodes.address(node));
            let feeds = self.feeds.get_or_init(|| (0..self.nodes.len()).map(open).collect());
            feeds.iter().for_each(|feed| feed.subscribe(&key));
        }
        channel
    }

    /// Tells the other app servers since when the first of this one waits for the key who will ask; none: nobody any more.
    /// `asked`: an attempt of theirs failed.
    pub(crate) fn announce(&self, key: &str, channel: &Channel, since: Option<Time>, asked: bool) {
        if let Some(announcement) = channel.announce(since, asked) {
            self.nodes.tell(&wire::publish(key, &announcement));
        }
    }

    /// This node told somebody of a release of ours. If it tells us, too, we hear from the others whether they wait.
    pub(crate) fn on_told(&self, node: usize, key: &str) {
        if !self.get(key).is_some_and(|channel| channel.is_subscribed(node)) {
            self.join(key).on_others();
        }
    }
}
