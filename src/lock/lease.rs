//! A lock that was acquired: how long it may be relied on, its extension, its loss.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{
    NotExtended, Released,
    claim::Claim,
    round::{Answer, Round},
    tally::{quorum, reliable},
};
use crate::model::Cause;

/// The loss is signalled this long before the validity ends, since timers fire up to 2 ms late.
const SIGNAL_LEAD: Duration = Duration::from_millis(2);

/// The lock as its guard and its renewal share it.
#[derive(Debug)]
pub(super) struct Lease {
    claim: Claim,
    /// The clock before the first command was queued.
    start: Instant,
    term: Mutex<Term>,
    /// Tells those who wait for the loss.
    lost: Notify,
}

#[derive(Debug)]
struct Term {
    ends: Instant,
    /// Once lost, a lock stays lost, whatever an extension that was under way says.
    lost: bool,
}

impl Lease {
    /// A lock whose votes are there. It counts as held until it is taken back.
    pub(super) fn new(claim: Claim, start: Instant) -> Self {
        claim.ballot().hold();
        let ends = start + reliable(claim.ttl());
        Self {
            claim,
            start,
            term: Mutex::new(Term { ends, lost: false }),
            lost: Notify::new(),
        }
    }

    pub(super) const fn claim(&self) -> &Claim {
        &self.claim
    }

    /// How long the lock may still be relied on; zero when it is lost.
    pub(super) fn validity(&self) -> Duration {
        let term = self.term();
        if term.lost {
            Duration::ZERO
        } else {
            term.ends.saturating_duration_since(Instant::now())
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.validity().is_zero()
    }

    /// Resolves when the lock is lost: at the end of its validity, or when a quorum can't be had again.
    pub(super) async fn lost(&self) {
        loop {
            let told = self.lost.notified();
            tokio::pin!(told);
            // From here on no word is missed, also if the loss happens before the wait.
            told.as_mut().enable();
            let signal = {
                let mut term = self.term();
                let signal = term.ends.checked_sub(SIGNAL_LEAD).unwrap_or(term.ends);
                if term.lost || signal <= Instant::now() {
                    term.lost = true;
                    return;
                }
                signal
            };
            tokio::select! {
                () = told => {}
                () = sleep_until(signal) => {}
            }
        }
    }

    /// Extends the lock by its TTL, counted from now, on the nodes that still hold it.
    pub(super) async fn extend(&self) -> Result<Duration, NotExtended> {
        let start = Instant::now();
        let ends = {
            let term = self.term();
            if term.lost || term.ends <= start {
                return Err(NotExtended::Lost);
            }
            term.ends
        };
        let (nodes, quorum) = (self.claim.nodes(), quorum(self.claim.nodes()));
        let round = self.claim.extend();
        let until = ends.min(start + self.claim.node_timeout());
        let answers = round
            .wait(until, |answers| {
                extended(answers) >= quorum || gone(answers) > nodes - quorum
            })
            .await;

        let mut term = self.term();
        let now = Instant::now();
        if gone(&answers) > nodes - quorum || term.ends <= now {
            // Too few nodes are left, or the answer came too late to rely on the time in between.
            term.lost = true;
        }
        if term.lost {
            drop(term);
            self.lost.notify_waiters();
            return Err(NotExtended::Lost);
        }
        let ends = start + reliable(self.claim.ttl());
        if extended(&answers) < quorum || ends <= now {
            return Err(NotExtended::NoQuorum {
                causes: answers.into_iter().map(cause).collect(),
            });
        }
        term.ends = term.ends.max(ends);
        Ok(term.ends - now)
    }

    /// Extends the lock every `interval` until it is lost. A failed extension is tried again after the next one.
    pub(super) async fn renew(self: Arc<Self>, interval: Duration) {
        let mut next = self.start;
        while !self.is_lost() {
            // After a pause there is nothing to catch up on.
            next = (next + interval).max(Instant::now());
            sleep_until(next).await;
            // What it says shows in the validity, which ends by itself if no extension succeeds.
            let _ = self.extend().await;
        }
    }

    /// Deletes the keys; resolves when a quorum confirmed it, all answered, or the node timeout is over.
    pub(super) async fn release(&self) -> Released {
        let quorum = quorum(self.claim.nodes());
        let mut round = None;
        self.claim
            .take_back(|places| round.insert(Arc::new(Round::new(places))).clone().into());
        let Some(round) = round else { return Released::default() };
        let until = Instant::now() + self.claim.node_timeout();
        let answers = round.wait(until, |answers| extended(answers) >= quorum).await;
        let (deleted, gone) = (extended(&answers), gone(&answers));
        Released {
            deleted,
            gone,
            unconfirmed: answers.len() - deleted - gone,
        }
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The nodes on which the key still held our token.
fn extended(answers: &[Option<Answer>]) -> usize {
    answers
        .iter()
        .flatten()
        .filter(|answer| **answer == Answer::Int(1))
        .count()
}

/// The nodes on which it did not.
fn gone(answers: &[Option<Answer>]) -> usize {
    answers
        .iter()
        .flatten()
        .filter(|answer| **answer == Answer::Int(0))
        .count()
}

fn cause(answer: Option<Answer>) -> Option<Cause> {
    match answer {
        None => Some(Cause::Timeout),
        Some(Answer::Int(1)) => None,
        Some(Answer::Int(_)) => Some(Cause::Error("the key is gone".into())),
        Some(Answer::Failed(cause)) => Some(cause),
    }
}
