use std::{collections::VecDeque, time::Duration};

use super::{clock::NEVER, lane::Lane};
use crate::protocol::{Command, Link, Suspicion, Time, Waited};

/// A first connection that is not there after this time is waited for by nobody.
pub(super) const HESITATION: Duration = Duration::from_millis(40);

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
    /// How long a key is still there. A worker that has other things to do by now has another ticket.
    Question {
        worker: u32,
        ticket: u32,
        key: u32,
    },
    /// What those who wait for a key are told.
    Tell {
        key: u32,
        waited: Box<Waited>,
    },
}

impl Job {
    pub(super) const fn command(&self) -> Option<Command> {
        match self {
            Self::Set { .. } => Some(Command::Set),
            Self::Extend { .. } => Some(Command::Extend),
            Self::Delete { .. } => Some(Command::Delete),
            Self::Question { .. } | Self::Tell { .. } => None,
        }
    }

    pub(super) const fn claim(&self) -> Option<u32> {
        match self {
            Self::Set { claim, .. } | Self::Extend { claim, .. } | Self::Delete { claim, .. } => Some(*claim),
            Self::Question { .. } | Self::Tell { .. } => None,
        }
    }
}

/// What goes to a node.
#[derive(Debug)]
pub(super) enum Request {
    Greet,
    Set { key: u32, ttl: u32, token: u64 },
    Extend { key: u32, ttl: u32, token: u64 },
    Delete { key: u32, announce: bool, token: u64 },
    Remaining { key: u32 },
    Publish { key: u32, waited: Box<Waited> },
}

/// What comes from a node, or instead of it.
#[derive(Debug)]
pub(super) enum Reply {
    /// The connection is there.
    Welcome,
    /// There is none to be had.
    Refused,
    /// There is none any more.
    Broken,
    /// Whether the key was set, or extended.
    Done(bool),
    /// How many were told of the release; none if there was nothing to delete.
    Deleted(Option<u32>),
    /// The milliseconds that the key has left; none if it is not there.
    Remaining(Option<u64>),
    /// It was published.
    Told,
}

/// A command of a connection that is gone: its node has read it, or will.
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
    /// Nothing is connected yet, for the first time.
    pub(super) begun: bool,
    pub(super) queue: VecDeque<Job>,
    /// What owes an answer, in order, and when it was written.
    pub(super) written: VecDeque<(Job, Time)>,
    pub(super) requests: Lane<Request>,
    pub(super) replies: Lane<Reply>,
    /// Whether the node has it, too.
    pub(super) open: bool,
    /// Whether the news that it is broken, or that there is none, is under way.
    pub(super) ending: bool,
    /// The times of its events; [`NEVER`] if none is planned.
    pub(super) alarm: u64,
    pub(super) writes: u64,
    pub(super) connects: u64,
    /// Attempts that were admitted and have not finished, as the world counts them.
    pub(super) room: i64,
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
        }
    }
}
