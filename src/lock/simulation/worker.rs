use std::time::Duration;

use super::clock::NEVER;
use crate::protocol::{Acquire, NodeSet, Renewal, Time, Wait};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its app server has not begun.
    Idle,
    /// Between two cycles, until a time.
    Resting,
    /// Behind somebody else of its app server, who is looked at again at a time.
    InLine,
    /// It asks next at a time, or earlier if there is news.
    Pausing,
    /// An attempt is under way.
    Asking,
    /// It asks for how long the key is still there, until a time.
    LookingUp,
    /// It holds the lock, and wants it until a time.
    Holding,
    /// It waits for the release, until a time.
    Releasing,
}

/// A caller, one thing after the other.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) app: usize,
    pub(super) stage: Stage,
    /// The end of the stage, as far as that is a time.
    pub(super) until: Time,
    /// Counts its waits: what belongs to one that is over has another ticket.
    pub(super) ticket: u32,
    pub(super) key: usize,
    pub(super) acquire: Acquire,
    /// When the acquire began.
    pub(super) since: Time,
    /// When it gives up whatever it is doing.
    pub(super) gives_up: Time,
    pub(super) claim: Option<u32>,
    /// The permit that it has in its app server.
    pub(super) permit: Option<u64>,
    /// The changes of the channel that it knew of when it asked last.
    pub(super) heard: u64,
    /// When an attempt is over for the caller.
    pub(super) limit: Time,
    pub(super) lookup: LookUp,
    pub(super) renewal: Option<Renewal>,
    pub(super) renews: Time,
    /// When to look whether the lock is lost.
    pub(super) signals: Time,
    /// Whether it stops when its lock is lost.
    pub(super) heeds_loss: bool,
    /// Keys that it is to have once, when all is healed.
    pub(super) probes: Vec<usize>,
    /// The true time of its timer; events of other times were overtaken.
    pub(super) timer: u64,
    /// The time that the timer was set to before that, for which an event is planned still.
    pub(super) later: u64,
}

/// What is known of how long a key is still there.
#[derive(Debug, Default)]
pub(super) struct LookUp {
    pub(super) unanswered: NodeSet,
    pub(super) remaining: Vec<Duration>,
    /// The keys that must be gone.
    pub(super) needed: usize,
    /// When to ask whatever they say.
    pub(super) latest: Time,
}

impl Worker {
    pub(super) fn new(app: usize) -> Self {
        Self {
            app,
            stage: Stage::Idle,
            until: Time::MAX,
            ticket: 0,
            key: 0,
            acquire: Acquire::new(Wait::FailFast, Time::MAX),
            since: Time::ZERO,
            gives_up: Time::MAX,
            claim: None,
            permit: None,
            heard: 0,
            limit: Time::MAX,
            lookup: LookUp::default(),
            renewal: None,
            renews: Time::MAX,
            signals: Time::MAX,
            heeds_loss: false,
            probes: Vec::new(),
            timer: NEVER,
            later: NEVER,
        }
    }
}
