use std::collections::BTreeMap;

use super::clock::{Clock, NEVER};
use crate::protocol::{Announcements, Line, Time};

/// One app server with its clock, its waiting lines and its channels.
#[derive(Debug)]
pub(super) struct AppServer {
    pub(super) clock: Clock,
    /// Nothing in it runs now.
    pub(super) frozen: bool,
    /// When it last froze.
    pub(super) froze: u64,
    /// When it last went on after a freeze.
    pub(super) thawed: Option<u64>,
    /// It died, and its successor has not started yet.
    pub(super) dead: bool,
    /// Identifies it among all others, its predecessors included.
    pub(super) id: u64,
    /// By key, those for which somebody waits in line: of many keys an app server wants few.
    pub(super) lines: BTreeMap<usize, KeyLine>,
    /// By key, those for which somebody had to wait.
    pub(super) channels: BTreeMap<usize, Channel>,
    pub(super) last_permit: u64,
    /// When it next looks for channels that nobody uses.
    pub(super) sweeps: u64,
}

/// The line of one key.
#[derive(Debug)]
pub(super) struct KeyLine {
    pub(super) line: Line<Waiter>,
    /// The number of the present permit.
    pub(super) permit: u64,
    /// The worker that has the permit.
    pub(super) worker: usize,
    /// The lock that was acquired with this permit.
    pub(super) held: Option<u32>,
}

/// A worker in a line; it is gone if the worker's ticket has changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    pub(super) worker: usize,
    pub(super) ticket: u32,
}

/// The announcements that an app server receives about a key.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) announcements: Announcements<u64>,
    /// When it was last needed.
    pub(super) used: Time,
}

impl AppServer {
    pub(super) const fn new(clock: Clock, id: u64) -> Self {
        Self {
            clock,
            frozen: false,
            froze: 0,
            thawed: None,
            dead: false,
            id,
            lines: BTreeMap::new(),
            channels: BTreeMap::new(),
            last_permit: 0,
            sweeps: NEVER,
        }
    }
}
