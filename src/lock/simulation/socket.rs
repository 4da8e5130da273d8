use super::clock::NEVER;
use super::lane::Lane;
use crate::protocol::{Command, WaitAnnouncement};

/// A message to a node.
#[derive(Debug)]
pub(super) enum Request {
    Greet,
    Lock {
        command: Command,
        key: u32,
        ttl: u32,
        token: u64,
        /// Whether a delete is announced to the subscribers of the key.
        announce: bool,
    },
    Remaining {
        key: u32,
    },
    Publish {
        key: u32,
        waited: Box<WaitAnnouncement>,
    },
    Subscribe {
        app: u32,
        key: u32,
    },
    Unsubscribe {
        app: u32,
        key: u32,
    },
}

/// A message from a node, or about the connection to it.
#[derive(Debug)]
pub(super) enum Reply {
    /// The connection is established.
    Welcome,
    /// The connection was refused.
    Refused,
    /// The connection broke.
    Broken,
    /// 0 if the node did not do it, or else 1 plus the number of subscribers that got the release.
    Done(u32),
    /// The remaining milliseconds of the key; `None` if it does not exist.
    Remaining(Option<u64>),
    /// The message was published.
    Published,
    /// The app server is subscribed to this key.
    Subscribed(u32),
    /// The lock of this key and token was released.
    Released(u32, u64),
    /// Somebody waits for the key.
    WaitAnnounced(u32, Box<WaitAnnouncement>),
}

/// A command of a connection that is gone, which its node still runs.
#[derive(Debug)]
pub(super) struct Stray {
    pub(super) node: usize,
    pub(super) request: Request,
    /// When it arrives.
    pub(super) at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Up,
    Down,
}

/// What carries the messages of an app server to a node and back: those for locks, or those about subscriptions.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) app: usize,
    pub(super) node: usize,
    pub(super) phase: Phase,
    pub(super) requests: Lane<Request>,
    pub(super) replies: Lane<Reply>,
    /// Whether the connection is open on the node's side.
    pub(super) open: bool,
    /// Whether the message that it broke, or was refused, is under way.
    pub(super) ending: bool,
    /// When it is connected again; [`NEVER`] if that is not planned.
    pub(super) connects: u64,
    /// How much longer messages take on order, to the node and from it; in nanoseconds.
    pub(super) late: [u64; 2],
}

impl Socket {
    pub(super) const fn new(app: usize, node: usize) -> Self {
        Self {
            app,
            node,
            phase: Phase::Down,
            requests: Lane::new(),
            replies: Lane::new(),
            open: false,
            ending: false,
            connects: NEVER,
            late: [0; 2],
        }
    }

    /// Whether nobody has wanted to connect it yet.
    pub(super) fn is_unused(&self) -> bool {
        self.phase == Phase::Down && self.connects == NEVER
    }
}
