use std::time::Duration;

use super::clock::NEVER;
use crate::protocol::{Acquire, NodeSet, Renewal, Time, Wait};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerStage {
    /// Its app server has not started.
    Idle,
    /// Between two cycles, until a time.
    Resting,
    /// In line behind another worker of its app server, whose lock is checked at a time.
    InLine,
    /// It pauses until it asks again at a time, or earlier if there is a reason to.
    Pausing,
    /// An attempt is under way.
    Asking,
    /// It waits for answers on how long the key will still exist, until a time.
    LookingUp,
    /// It holds the lock, until a time.
    Holding,
    /// It waits for the confirmation of its release, until a time.
    Releasing,
}

/// A worker, which does one thing after another.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) app: usize,
    pub(super) stage: WorkerStage,
    /// How much its section found to do, see [`World::stock`](super::World::stock); `None` if there is always something.
    pub(super) found: Option<u64>,
    /// When it got the lock that it holds.
    pub(super) granted: Time,
    /// The end of the stage, if the stage has a fixed one.
    pub(super) until: Time,
    /// Counts its waits: answers and places in line that belong to an earlier wait have an older ticket.
    pub(super) ticket: u32,
    pub(super) key: usize,
    pub(super) acquire: Acquire,
    /// When the acquire began.
    pub(super) since: Time,
    /// When it gives up whatever it is doing.
    pub(super) gives_up: Time,
    pub(super) claim: Option<u32>,
    /// The permit that it has, if any.
    pub(super) permit: Option<u64>,
    /// The number of reasons to ask again that it knew of when it last asked.
    pub(super) heard: u64,
    /// When an attempt ends for the caller.
    pub(super) limit: Time,
    pub(super) lookup: LookUp,
    pub(super) renewal: Option<Renewal>,
    pub(super) renews: Time,
    /// When to check whether the lock is lost.
    pub(super) signals: Time,
    /// Whether it stops when the loss of its lock is signalled.
    pub(super) heeds_loss: bool,
    /// Keys that it must acquire once more when all is healed.
    pub(super) probes: Vec<usize>,
    /// The true time of its timer; events for other times are superseded.
    pub(super) timer: u64,
    /// The time that the timer was set to before, for which an event is still planned.
    pub(super) later: u64,
}

/// The answers on how long a key will still exist.
#[derive(Debug, Default)]
pub(super) struct LookUp {
    pub(super) unanswered: NodeSet,
    pub(super) remaining: Vec<Duration>,
    /// The number of keys that must expire.
    pub(super) needed: usize,
    /// When to ask again at the latest, whatever the answers.
    pub(super) latest: Time,
}

impl Worker {
    pub(super) fn new(app: usize) -> Self {
        Self {
            app,
            stage: WorkerStage::Idle,
            found: None,
            granted: Time::ZERO,
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
