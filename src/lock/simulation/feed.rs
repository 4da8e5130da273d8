use super::clock::NEVER;
use super::connection::Phase;
use super::lane::Lane;
use crate::protocol::WaitAnnouncement;

/// A message to a node about subscriptions.
#[derive(Debug)]
pub(super) enum FeedRequest {
    Greet,
    Subscribe(u32),
    Unsubscribe(u32),
}

/// A message from a node, or about the connection to it.
#[derive(Debug)]
pub(super) enum FeedMessage {
    Welcome,
    Refused,
    Broken,
    Subscribed(u32),
    /// The lock of this key and token was released.
    Released(u32, u64),
    /// Somebody waits for the key.
    WaitAnnounced(u32, Box<WaitAnnouncement>),
}

/// The subscriber connection of an app server to a node, separate from the one for locks.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) phase: Phase,
    pub(super) requests: Lane<FeedRequest>,
    pub(super) messages: Lane<FeedMessage>,
    /// Whether the connection is open on the node's side.
    pub(super) open: bool,
    /// Whether the message that it broke, or was refused, is under way.
    pub(super) ending: bool,
    /// The time at which it connects.
    pub(super) connects: u64,
    /// Whether a caller of the app server has ever had to wait; the feed is connected only then.
    pub(super) wanted: bool,
}

impl Feed {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Down,
            requests: Lane::new(),
            messages: Lane::new(),
            open: false,
            ending: false,
            connects: NEVER,
            wanted: false,
        }
    }
}
