use std::collections::VecDeque;
use std::time::Duration;

use super::clock::NEVER;
use super::lane::Lane;
use crate::protocol::{Command, Link, Suspicion, Time, WaitAnnouncement};

/// How long commands wait for the first connection, as in the lock engine.
pub(super) const FIRST_CONNECTION_WAIT: Duration = Duration::from_millis(40);

/// A command that waits to be written, or for its answer.
#[derive(Debug)]
pub(super) enum Job {
    Set {
        claim: u32,
        asked: Time,
    },
    Extend {
        claim: u32,
        asked: Time,
    },
    Delete {
        claim: u32,
        announce: bool,
    },
    /// Asks how long a key will still exist. If the worker does something else by now, its ticket has changed.
    Question {
        worker: u32,
        ticket: u32,
        key: u32,
    },
    /// Announces to the waiters of a key how long we have waited.
    Publish {
        key: u32,
        waited: Box<WaitAnnouncement>,
    },
}

impl Job {
    pub(super) const fn command(&self) -> Option<Command> {
        match self {
            Self::Set { .. } => Some(Command::Set),
            Self::Extend { .. } => Some(Command::Extend),
            Self::Delete { .. } => Some(Command::Delete),
            Self::Question { .. } | Self::Publish { .. } => None,
        }
    }

    pub(super) const fn claim(&self) -> Option<u32> {
        match self {
            Self::Set { claim, .. } | Self::Extend { claim, .. } | Self::Delete { claim, .. } => Some(*claim),
            Self::Question { .. } | Self::Publish { .. } => None,
        }
    }
}

/// A message to a node.
#[derive(Debug)]
pub(super) enum Request {
    Greet,
    Set { key: u32, ttl: u32, token: u64 },
    Extend { key: u32, ttl: u32, token: u64 },
    Delete { key: u32, announce: bool, token: u64 },
    Remaining { key: u32 },
    Publish { key: u32, waited: Box<WaitAnnouncement> },
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
    /// Whether the key was set, or extended.
    Done(bool),
    /// How many subscribers got the release; `None` if there was nothing to delete.
    Deleted(Option<u32>),
    /// The remaining milliseconds of the key; `None` if it does not exist.
    Remaining(Option<u64>),
    /// The message was published.
    Published,
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

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) app: usize,
    pub(super) node: usize,
    pub(super) phase: Phase,
    pub(super) link: Link,
    pub(super) suspicion: Suspicion,
    /// The node was found suspect and has not answered since.
    pub(super) suspect: bool,
    /// The first connection has not been made yet.
    pub(super) begun: bool,
    pub(super) queue: VecDeque<Job>,
    /// Commands without an answer, in order, with the times at which they were written.
    pub(super) written: VecDeque<(Job, Time)>,
    pub(super) requests: Lane<Request>,
    pub(super) replies: Lane<Reply>,
    /// Whether the connection is open on the node's side.
    pub(super) open: bool,
    /// Whether the message that it broke, or was refused, is under way.
    pub(super) ending: bool,
    /// The times of its events; [`NEVER`] if none is planned.
    pub(super) alarm: u64,
    pub(super) writes: u64,
    pub(super) connects: u64,
    /// Attempts that were admitted and are not finished, by the world's own count.
    pub(super) room: i64,
    /// How much longer messages take on order, to the node and from it, on the feed too; in nanoseconds.
    pub(super) late: [u64; 2],
}

impl Connection {
    pub(super) fn new(app: usize, node: usize) -> Self {
        Self {
            app,
            node,
            phase: Phase::Down,
            link: Link::default(),
            suspicion: Suspicion::new(Time::ZERO),
            suspect: false,
            begun: true,
            queue: VecDeque::new(),
            written: VecDeque::new(),
            requests: Lane::new(),
            replies: Lane::new(),
            open: false,
            ending: false,
            alarm: NEVER,
            writes: NEVER,
            connects: NEVER,
            room: 0,
            late: [0; 2],
        }
    }
}
