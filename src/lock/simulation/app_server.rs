use std::collections::BTreeMap;

use super::clock::{Clock, NEVER};
use crate::protocol::{Announcements, Lines, Time};

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
    /// Its workers in line, by key, with the locks that they hold.
    pub(super) lines: Lines<usize, usize, u32>,
    /// By key, the worker whose turn it is, or was last.
    pub(super) turns: BTreeMap<usize, usize>,
    /// When it next looks for turns that nobody acts on.
    pub(super) watches: u64,
    /// By key, those for which somebody had to wait.
    pub(super) channels: BTreeMap<usize, Channel>,
    /// When it next looks for channels that nobody uses.
    pub(super) sweeps: u64,
}

/// The announcements that an app server receives about a key.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) announcements: Announcements<u64>,
    /// When it was last needed.
    pub(super) used: Time,
    /// When we last announced that we wait, unless we have said since that we do not.
    pub(super) announced: Option<Time>,
}

impl AppServer {
    pub(super) fn new(clock: Clock, id: u64) -> Self {
        Self {
            clock,
            frozen: false,
            froze: 0,
            thawed: None,
            dead: false,
            id,
            lines: Lines::default(),
            turns: BTreeMap::new(),
            watches: NEVER,
            channels: BTreeMap::new(),
            sweeps: NEVER,
        }
    }
}
