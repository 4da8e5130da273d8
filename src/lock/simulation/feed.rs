use super::{clock::NEVER, connection::Phase, lane::Lane};
use crate::protocol::Waited;

/// What an app server wants to be told of.
#[derive(Debug)]
pub(super) enum Wish {
    Greet,
    Subscribe(u32),
    Unsubscribe(u32),
}

/// What comes from a node, or instead of it.
#[derive(Debug)]
pub(super) enum News {
    Welcome,
    Refused,
    Broken,
    Subscribed(u32),
    /// The lock of this key and token was released.
    Released(u32, u64),
    /// Somebody waits for the key.
    Waited(u32, Box<Waited>),
}

/// A connection on which a node tells an app server of released locks. It has nothing to do with the one for locks.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) phase: Phase,
    pub(super) wishes: Lane<Wish>,
    pub(super) news: Lane<News>,
    /// Whether the node has it, too.
    pub(super) open: bool,
    /// Whether the news that it is broken, or that there is none, is under way.
    pub(super) ending: bool,
    /// The time at which it connects.
    pub(super) connects: u64,
    /// Nobody who never waits has such connections.
    pub(super) wanted: bool,
}

impl Feed {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Down,
            wishes: Lane::new(),
            news: Lane::new(),
            open: false,
            ending: false,
            connects: NEVER,
            wanted: false,
        }
    }
}
