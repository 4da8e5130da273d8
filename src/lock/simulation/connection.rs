use std::time::Duration;

use super::clock::NEVER;
use crate::protocol::{Command, Letter, Link, Mailbox, Pipeline, Time, WaitAnnouncement};

/// A command that waits to be written, or for its answer.
#[derive(Debug)]
pub(super) enum Job {
    Lock {
        command: Command,
        claim: u32,
        asked: Time,
        /// Whether a delete is announced to those who wait for the key.
        announce: bool,
        /// How long its answer was of use when it was queued.
        patience: Duration,
    },
    /// Asks how long a key will still exist. If the worker does something else by now, its ticket has changed.
    Question { worker: u32, ticket: u32, key: u32 },
    /// Announces to the waiters of a key how long we have waited.
    Publish { key: u32, waited: Box<WaitAnnouncement> },
}

impl Letter for Job {
    fn command(&self) -> Option<Command> {
        match self {
            Self::Lock { command, .. } => Some(*command),
            Self::Question { .. } | Self::Publish { .. } => None,
        }
    }

    fn patience(&self) -> Duration {
        match self {
            Self::Lock { patience, .. } => *patience,
            Self::Question { .. } | Self::Publish { .. } => Duration::MAX,
        }
    }
}

impl Job {
    pub(super) const fn claim(&self) -> Option<u32> {
        match self {
            Self::Lock { claim, .. } => Some(*claim),
            Self::Question { .. } | Self::Publish { .. } => None,
        }
    }
}

/// The commands of an app server for a node, on the socket for locks.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) mailbox: Mailbox<Job>,
    pub(super) pipeline: Pipeline<Job>,
    /// The node was found suspect and has not answered since.
    pub(super) suspect: bool,
    /// Commands wait for the connection that is being made.
    pub(super) begun: bool,
    /// Since when there has been a connection, if there is one.
    pub(super) since: Option<Time>,
    /// The times of its events; [`NEVER`] if none is planned.
    pub(super) alarm: u64,
    pub(super) writes: u64,
    /// Attempts that were admitted and are not finished, by the world's own count.
    pub(super) room: i64,
}

impl Connection {
    pub(super) fn new(window: usize) -> Self {
        Self {
            mailbox: Mailbox::new(Link::default()),
            pipeline: Pipeline::new(window, Time::ZERO),
            suspect: false,
            begun: true,
            since: None,
            alarm: NEVER,
            writes: NEVER,
            room: 0,
        }
    }

    /// Takes the next command to write, if there is room for one.
    pub(super) fn next(&mut self) -> Option<Job> {
        self.mailbox.pop(&self.pipeline)
    }
}
