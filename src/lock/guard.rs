use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    NotExtended,
    claim::{Claim, Owned},
    lease,
    line::Turn,
    local::LocalGuard,
    renewals::Renewing,
    tally::quorum,
};

/// What a release did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Released {
    /// Nodes that deleted the key.
    pub deleted: usize,
    /// Nodes where it was gone already, or somebody else's.
    pub gone: usize,
    /// Nodes that have not said yet. Their delete is on its way, or waits for the node.
    pub unconfirmed: usize,
}

/// A lock that is held. Dropping it releases it in the background, without waiting for any node; outside the runtime
/// (an app server that was killed) nothing is sent and the keys keep their TTL.
#[derive(Debug)]
#[must_use = "dropping a guard releases the lock"]
pub struct Guard {
    held: Held,
    attempts: u32,
    waited: bool,
}

#[derive(Debug)]
enum Held {
    /// No lock at all.
    Nothing,
    Local(#[allow(dead_code)] LocalGuard), // it is there to be dropped
    Quorum(QuorumGuard),
}

#[derive(Debug)]
struct QuorumGuard {
    claim: Owned,
    /// Ends with the guard.
    renewal: Option<Renewing>,
    /// Goes on to the next of this app server who waits, once the deletes are queued: what that one asks goes behind them.
    turn: Option<Turn>,
}

/// Votes of a lock that may come after its release.
#[derive(Debug)]
pub struct LateVotes(Option<Arc<Claim>>);

impl LateVotes {
    /// The votes, if no more can come.
    #[must_use]
    pub fn known(&self) -> Option<usize> {
        let Some(claim) = &self.0 else { return Some(0) };
        let ballot = claim.ballot();
        ballot.is_answered().then(|| ballot.granted())
    }

    /// Waits until every node has answered or has had its node timeout since the acquire began.
    pub async fn wait(self) -> usize {
        let Some(claim) = &self.0 else { return 0 };
        let until = claim.start() + claim.node_timeout();
        let mut pause = Duration::from_millis(1);
        // A look now and then is cheap, and few locks are released before all have answered.
        while self.known().is_none() && Instant::now() < until {
            sleep_until(until.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        claim.ballot().granted()
    }
}

impl Guard {
    pub(super) const fn nothing() -> Self {
        Self {
            held: Held::Nothing,
            attempts: 1,
            waited: false,
        }
    }

    pub(super) const fn local(guard: LocalGuard, waited: bool) -> Self {
        Self {
            held: Held::Local(guard),
            attempts: 1,
            waited,
        }
    }

    pub(super) const fn quorum(
        claim: Owned,
        renewal: Option<Renewing>,
        turn: Option<Turn>,
        attempts: u32,
        waited: bool,
    ) -> Self {
        Self {
            held: Held::Quorum(QuorumGuard { claim, renewal, turn }),
            attempts,
            waited,
        }
    }

    const fn claim(&self) -> Option<&Owned> {
        match &self.held {
            Held::Quorum(guard) => Some(&guard.claim),
            Held::Nothing | Held::Local(_) => None,
        }
    }

    /// The nodes that have this lock's key, as far as is known; late votes raise it. 0 without nodes.
    #[must_use]
    pub fn votes(&self) -> usize {
        self.claim().map_or(0, |claim| claim.ballot().votes())
    }

    /// How many of the votes may be lost (by nodes that restart without persistence, say) without anybody else
    /// getting in: the votes beyond a quorum. 0 without nodes.
    #[must_use]
    pub fn margin(&self) -> usize {
        self.votes().saturating_sub(quorum(self.nodes()))
    }

    /// The nodes that were asked. 0 for a lock without nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.claim().map_or(0, |claim| claim.nodes())
    }

    /// The value of the keys, by which the nodes tell this holder from others. Empty for a lock without nodes.
    #[must_use]
    pub fn token(&self) -> &str {
        self.claim().map_or("", |claim| claim.wire().token())
    }

    /// How long the lock may still be relied on; zero once it is lost, [`Duration::MAX`] for a lock without nodes.
    #[must_use]
    pub fn validity(&self) -> Duration {
        self.claim().map_or(Duration::MAX, |claim| lease::validity(claim))
    }

    /// The attempts that it took, 1 at least.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether somebody else may have held the lock since the acquire began: it waited in a queue or between attempts.
    /// What was read before must be read again.
    #[must_use]
    pub const fn waited(&self) -> bool {
        self.waited
    }

    /// Whether the lock can't be relied on any more: its validity ended, or too few nodes still have its key.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.validity().is_zero()
    }

    /// Whether the section has outlasted the lock: even the latest validity that it ever had is over. Never without nodes.
    #[must_use]
    pub fn overran(&self) -> bool {
        self.claim()
            .is_some_and(|claim| claim.ballot().relied().is_none_or(|ends| ends <= Instant::now()))
    }

    /// The votes that this lock will have in the end, to be asked for before its release.
    #[must_use]
    pub fn late_votes(&self) -> LateVotes {
        LateVotes(self.claim().map(|claim| Arc::clone(claim)))
    }

    /// Resolves when the lock is lost, up to 2 ms before its validity ends; never for a lock without nodes.
    pub async fn lost(&self) {
        match self.claim() {
            Some(claim) => lease::lost(claim).await,
            None => pending().await,
        }
    }

    /// Extends the lock to its whole TTL from now, and says how long it may be relied on. Never creates it again.
    ///
    /// # Errors
    /// If the lock is lost, or if no quorum of nodes extended it within the node timeout.
    pub async fn extend(&self) -> Result<Duration, NotExtended> {
        match self.claim() {
            Some(claim) => lease::extend(claim).await,
            None => Ok(Duration::MAX),
        }
    }

    /// Releases the lock. Resolves when a quorum of nodes deleted the key, all answered, or the node timeout is over,
    /// whichever is first; the other deletes go on in the background.
    pub async fn release(self) -> Released {
        let Held::Quorum(QuorumGuard { claim, renewal, turn }) = self.held else {
            return Released::default();
        };
        claim.release();
        drop((renewal, turn));
        claim.released().await
    }
}
