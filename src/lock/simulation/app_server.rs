use super::clock::{Clock, NEVER};
use crate::protocol::{Announcements, Line, Time};

/// One process with its clock, and those in it who wait.
#[derive(Debug)]
pub(super) struct AppServer {
    pub(super) clock: Clock,
    /// Nothing of it runs.
    pub(super) frozen: bool,
    /// When it last went on after that.
    pub(super) thawed: Option<u64>,
    /// It died, and its successor has not begun.
    pub(super) dead: bool,
    /// Tells it from all others, its predecessors too.
    pub(super) id: u64,
    /// By key; a key that nobody wants in line has none.
    pub(super) lines: Vec<Option<Turns>>,
    /// By key; a key that nobody had to wait for has none.
    pub(super) channels: Vec<Option<Channel>>,
    pub(super) last_turn: u64,
    /// The time at which it looks for channels that nobody uses.
    pub(super) sweeps: u64,
}

/// The line of one key.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) line: Line<Place>,
    /// The number of the present permit.
    pub(super) permit: u64,
    /// Who has the permit.
    pub(super) worker: usize,
    /// The lock that was acquired with this permit.
    pub(super) held: Option<u32>,
}

/// Somebody in a line; gone if the worker's ticket is another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) worker: usize,
    pub(super) ticket: u32,
}

/// What an app server hears about a key.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) announcements: Announcements<u64>,
    /// When it was last needed.
    pub(super) used: Time,
}

impl AppServer {
    pub(super) fn new(clock: Clock, id: u64, keys: usize) -> Self {
        Self {
            clock,
            frozen: false,
            thawed: None,
            dead: false,
            id,
            lines: (0..keys).map(|_| None).collect(),
            channels: (0..keys).map(|_| None).collect(),
            last_turn: 0,
            sweeps: NEVER,
        }
    }
}
