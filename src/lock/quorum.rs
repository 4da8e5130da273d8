//! Acquiring a lock from a quorum of independent nodes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep_until};

use super::{
    FOREVER, Gauges, Guard, Nodes, Refusal, Terms,
    claim::{Claim, Owned},
    renewals::Renewals,
    round::Answer,
    tally::{Slot, is_decided, quorum, votes},
    wire,
};
use crate::model::{Cause, Wait};

/// The most that is added to the remaining TTL of a key, so that those who wait for it do not all come at once.
const EXPIRY_JITTER: Duration = Duration::from_millis(5);

/// The wait for the key to expire when no node can say how long that takes.
const BLIND_WAIT: Duration = Duration::from_millis(50);

/// A lock over independent nodes; over a single one it is `SET NX PX` with compare-and-delete.
#[derive(Debug)]
pub(super) struct Quorum {
    nodes: Nodes,
    renewals: Arc<Renewals>,
    /// Draws the jitter, and nothing that safety depends on.
    rng: Mutex<StdRng>,
}

/// An attempt that failed, with what the next one may want to know.
struct Missed {
    refusal: Refusal,
    slots: Box<[Slot]>,
    /// The deadline ended it before the node timeout did, and before it was decided.
    cut_short: bool,
}

impl Quorum {
    pub(super) fn new(nodes: Nodes, seed: u64) -> Self {
        Self {
            nodes,
            renewals: Arc::new(Renewals::new()),
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
        }
    }

    /// Tries as often as the terms say, and gives the last refusal.
    pub(super) async fn acquire(&self, key: &str, terms: &Terms, gauges: &Arc<Gauges>) -> Result<Guard, Refusal> {
        let deadline = Instant::now() + terms.deadline;
        let mut attempts = 0;
        let mut last: Option<Missed> = None;
        loop {
            attempts += 1;
            gauges.attempt();
            let missed = match (self.attempt(key, terms, gauges, deadline).await, last) {
                (Ok(claim), _) => {
                    let renewal = terms.renew.map(|interval| self.renewals.start(&claim, interval));
                    return Ok(Guard::quorum(claim, renewal, attempts, attempts > 1));
                }
                // Cut short by the deadline it says less than the one before.
                (Err(Missed { cut_short: true, .. }), Some(complete)) => return Err(complete.refusal),
                (Err(missed), _) => missed,
            };
            let pause = match terms.wait {
                Wait::FailFast => return Err(missed.refusal),
                Wait::Retry { retries, .. } if attempts > retries => return Err(missed.refusal),
                Wait::Retry { delay, jitter, .. } => delay.saturating_add(self.random(jitter)),
                Wait::Queue => {
                    let _waiting = gauges.wait();
                    self.remaining_ttl(key, terms, &missed.slots, deadline).await + self.random(EXPIRY_JITTER)
                }
            };
            // Nothing can come of waiting for an attempt that may not begin.
            let next = Instant::now() + pause.min(FOREVER);
            if next >= deadline {
                return Err(missed.refusal);
            }
            let waiting = gauges.wait();
            sleep_until(next).await;
            drop(waiting);
            last = Some(missed);
        }
    }

    /// Asks every node once.
    async fn attempt(
        &self,
        key: &str,
        terms: &Terms,
        gauges: &Arc<Gauges>,
        deadline: Instant,
    ) -> Result<Owned, Missed> {
        let start = Instant::now();
        let claim = Claim::ask(&self.nodes, key, terms, gauges);
        let until = start + terms.node_timeout;
        claim.decided(until.min(deadline)).await;
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
        let cut_short = deadline < until && !is_decided(quorum(slots.len()), &slots);
        Err(Missed {
            refusal,
            slots,
            cut_short,
        })
    }

    /// How long until enough of the nodes that refused us are free, as far as they say.
    async fn remaining_ttl(&self, key: &str, terms: &Terms, slots: &[Slot], deadline: Instant) -> Duration {
        let holders: Vec<_> = (0..slots.len())
            .filter(|&index| slots[index] == Slot::No(Cause::Held))
            .collect();
        let needed = quorum(slots.len()).saturating_sub(votes(slots));
        let until = deadline.min(Instant::now() + terms.node_timeout);
        let answers = self
            .nodes
            .question(&holders, wire::pttl(key), terms.node_timeout, until, |_| false)
            .await;
        let mut left: Vec<_> = answers.into_iter().filter_map(time_left).collect();
        left.sort_unstable();
        let enough = left.get(needed.saturating_sub(1)).or(left.last());
        enough.copied().unwrap_or(BLIND_WAIT)
    }

    fn random(&self, most: Duration) -> Duration {
        self.rng
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .random_range(Duration::ZERO..=most)
    }
}

/// A `PTTL` reply, rounded up: the key is still there in its last millisecond. A key that never expires is no use.
fn time_left(answer: Option<Answer>) -> Option<Duration> {
    match answer? {
        Answer::Int(-2) => Some(Duration::ZERO),
        Answer::Int(millis) => Some(Duration::from_millis(u64::try_from(millis).ok()? + 1)),
        Answer::Failed(_) => None,
    }
}
