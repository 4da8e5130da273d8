use std::time::Duration;

use super::clock::NEVER;
use crate::protocol::{Caller, NodeSet, Renewal, Rules, Time, Wait};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerStage {
    /// Its app server has not started.
    Idle,
    /// Between two cycles, until a time.
    Resting,
    /// In line behind another worker of its app server, until a time.
    InLine,
    /// It waits until a time, or until there is a reason to ask earlier; perhaps for answers on how long the key will still exist.
    Waiting,
    /// An attempt is under way.
    Asking,
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
    /// Of refusals it is given only the tokens of their attempts.
    pub(super) caller: Caller<u64>,
    /// The refusal that it must be told, by the world's own reckoning.
    pub(super) refusal: Option<u64>,
    /// When it gives up whatever it is doing.
    pub(super) gives_up: Time,
    pub(super) claim: Option<u32>,
    /// Its place in line, if any.
    pub(super) place: Option<u64>,
    /// The place in which its votes came when no validity was left.
    pub(super) too_slow: Option<u64>,
    /// By when it promised to act, if it is its turn.
    pub(super) promised: Time,
    /// Whether nobody polls its future any more until it gives up.
    pub(super) forgotten: bool,
    /// When an attempt ends for the caller.
    pub(super) limit: Time,
    /// The nodes that have not answered yet how long the key will still exist, and what the others answered.
    pub(super) looks_up: NodeSet,
    pub(super) remaining: Vec<Duration>,
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

impl Worker {
    pub(super) fn new(app: usize) -> Self {
        let rules = Rules {
            ttl: Duration::ZERO,
            reply_timeout: Duration::ZERO,
            lifetime: None,
            repair: false,
        };
        Self {
            app,
            stage: WorkerStage::Idle,
            found: None,
            granted: Time::ZERO,
            until: Time::MAX,
            ticket: 0,
            key: 0,
            caller: Caller::new(Wait::FailFast, &rules, Time::ZERO, Duration::ZERO),
            refusal: None,
            gives_up: Time::MAX,
            claim: None,
            place: None,
            too_slow: None,
            promised: Time::ZERO,
            forgotten: false,
            limit: Time::MAX,
            looks_up: NodeSet::EMPTY,
            remaining: Vec::new(),
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
