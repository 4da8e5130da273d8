//! Acquiring a lock from a quorum of independent nodes.

use std::{
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep_until};

use super::{
    FOREVER, Gauges, Guard, Nodes, Refusal, Terms,
    channels::Channels,
    claim::{Claim, Owned},
    line::Lines,
    queue,
    renewals::{Renewals, Renewing},
    tally::{Slot, quorum, votes},
};
use crate::model::{Outcome, Wait};

/// A lock over independent nodes; over a single one it is `SET NX PX` with compare-and-delete.
#[derive(Debug)]
pub(super) struct Quorum {
    pub(super) nodes: Nodes,
    pub(super) renewals: Arc<Renewals>,
    /// Those of this app server who wait.
    pub(super) lines: Lines,
    /// Where releases are told.
    pub(super) channels: Arc<Channels>,
    /// Draws the jitter, and nothing that safety depends on.
    rng: Mutex<StdRng>,
}

/// An attempt that failed, with what the next one may want to know.
pub(super) struct Missed {
    pub(super) refusal: Refusal,
    pub(super) slots: Box<[Slot]>,
    /// The deadline ended it before the node timeout did, and before it was decided.
    pub(super) cut_short: bool,
    /// How long it took.
    pub(super) elapsed: Duration,
}

impl Quorum {
    pub(super) fn new(nodes: Nodes, seed: u64) -> Self {
        Self {
            renewals: Arc::new(Renewals::new()),
            lines: Lines::default(),
            channels: Arc::new(Channels::new(nodes.clone())),
            nodes,
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Tries as often as the terms say, and gives the last refusal.
    pub(super) async fn acquire(&self, key: &str, terms: &Terms, gauges: &Arc<Gauges>) -> Result<Guard, Refusal> {
        let (retries, delay, jitter) = match terms.wait {
            // In a place of its own: who does not wait in line need not keep room for it.
            Wait::Queue => return Box::pin(queue::acquire(self, key, terms, gauges)).await,
            Wait::FailFast => (0, Duration::ZERO, Duration::ZERO),
            Wait::Retry { retries, delay, jitter } => (retries, delay, jitter),
        };
        let deadline = Instant::now() + terms.deadline;
        let mut attempts = 0;
        let mut last: Option<Missed> = None;
        loop {
            attempts += 1;
            let missed = match (self.attempt(key, terms, gauges, deadline).await, last) {
                (Ok(claim), _) => {
                    let renewal = self.renew(&claim, terms);
                    return Ok(Guard::quorum(claim, renewal, None, attempts, attempts > 1));
                }
                // Cut short by the deadline it says less than the one before.
                (Err(Missed { cut_short: true, .. }), Some(complete)) => return Err(complete.refusal),
                (Err(missed), _) => missed,
            };
            let next = Instant::now() + delay.saturating_add(self.random(Duration::ZERO..=jitter)).min(FOREVER);
            // Nothing can come of waiting for an attempt that may not begin.
            if attempts > retries || next >= deadline {
                return Err(missed.refusal);
            }
            let waiting = gauges.wait();
            sleep_until(next).await;
            drop(waiting);
            last = Some(missed);
        }
    }

    pub(super) fn renew(&self, claim: &Arc<Claim>, terms: &Terms) -> Option<Renewing> {
        terms.renew.map(|interval| self.renewals.start(claim, interval))
    }

    /// Tries once.
    pub(super) async fn try_acquire(&self, key: &str, terms: &Terms, gauges: &Arc<Gauges>) -> Result<Guard, Refusal> {
        // If nobody has the turn, those who come while the lock is held wait behind it.
        let turn = (terms.wait == Wait::Queue).then(|| self.lines.try_enter(key)).flatten();
        let deadline = Instant::now() + terms.deadline;
        let claim = match self.attempt(key, terms, gauges, deadline).await {
            Ok(claim) => claim,
            Err(missed) => return Err(missed.refusal),
        };
        if let Some(turn) = &turn {
            turn.hold(&claim);
        }
        let renewal = self.renew(&claim, terms);
        Ok(Guard::quorum(claim, renewal, turn, 1, false))
    }

    /// Asks every node once.
    pub(super) async fn attempt(
        &self,
        key: &str,
        terms: &Terms,
        gauges: &Arc<Gauges>,
        deadline: Instant,
    ) -> Result<Owned, Missed> {
        let start = Instant::now();
        gauges.attempt();
        let channels = (terms.wait == Wait::Queue).then_some(&self.channels);
        let claim = Claim::ask(&self.nodes, key, terms, gauges, channels);
        // Later votes are worth nothing.
        let ends = start + terms.ttl;
        let cut_short = claim.decided(deadline.min(ends)).await && deadline < ends;
        // Read after the votes: the lock can be relied on from here on, if at all.
        let elapsed = start.elapsed();
        let slots: Box<[Slot]> = {
            let mut ballot = claim.ballot();
            if !ballot.is_over(start + elapsed) {
                ballot.hold(gauges);
                drop(ballot);
                return Ok(claim);
            }
            ballot.slots().into()
        };
        let votes = votes(&slots);
        let refusal = if votes >= quorum(self.nodes.len()) {
            Refusal::Expired { votes, elapsed }
        } else {
            Refusal::new(quorum(self.nodes.len()), claim.causes(&slots))
        };
        if matches!(refusal.outcome(), Outcome::NoQuorum | Outcome::Unknown) {
            gauges.fail();
        }
        Err(Missed {
            refusal,
            slots,
            cut_short,
            elapsed,
        })
    }

    pub(super) fn random(&self, range: RangeInclusive<Duration>) -> Duration {
        self.rng
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .random_range(range)
    }
}
