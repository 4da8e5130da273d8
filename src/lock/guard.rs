use std::{future::pending, sync::Arc, time::Duration};

use tokio::task::JoinHandle;

use super::{NotExtended, lease::Lease, local::LocalGuard};

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
    lease: Arc<Lease>,
    renewal: Option<JoinHandle<()>>,
}

impl Drop for QuorumGuard {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        // The renewal's task may keep the lease for a moment longer.
        self.lease.claim().take_back(|_| None);
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

    /// Starts the renewal, if there is one.
    pub(super) fn quorum(lease: Lease, renew: Option<Duration>, attempts: u32, waited: bool) -> Self {
        let lease = Arc::new(lease);
        let renewal = renew.map(|interval| tokio::spawn(Arc::clone(&lease).renew(interval)));
        Self {
            held: Held::Quorum(QuorumGuard { lease, renewal }),
            attempts,
            waited,
        }
    }

    fn lease(&self) -> Option<&Lease> {
        match &self.held {
            Held::Quorum(guard) => Some(&guard.lease),
            Held::Nothing | Held::Local(_) => None,
        }
    }

    /// The nodes that voted for this lock so far; late votes raise it. 0 without nodes.
    #[must_use]
    pub fn votes(&self) -> usize {
        self.lease().map_or(0, |lease| lease.claim().ballot().votes())
    }

    /// The nodes that were asked. 0 for a lock without nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.lease().map_or(0, |lease| lease.claim().nodes())
    }

    /// How long the lock may still be relied on; zero once it is lost, [`Duration::MAX`] for a lock without nodes.
    #[must_use]
    pub fn validity(&self) -> Duration {
        self.lease().map_or(Duration::MAX, Lease::validity)
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
        self.lease().is_some_and(Lease::is_lost)
    }

    /// Resolves when the lock is lost, up to 2 ms before its validity ends; never for a lock without nodes.
    pub async fn lost(&self) {
        match self.lease() {
            Some(lease) => lease.lost().await,
            None => pending().await,
        }
    }

    /// Extends the lock to its whole TTL from now, and says how long it may be relied on. Never creates it again.
    ///
    /// # Errors
    /// If the lock is lost, or if no quorum of nodes extended it within the node timeout.
    pub async fn extend(&self) -> Result<Duration, NotExtended> {
        match self.lease() {
            Some(lease) => lease.extend().await,
            None => Ok(Duration::MAX),
        }
    }

    /// Releases the lock. Resolves when a quorum of nodes deleted the key, all answered, or the node timeout is over,
    /// whichever is first; the other deletes go on in the background.
    pub async fn release(self) -> Released {
        match self.lease() {
            Some(lease) => lease.release().await,
            None => Released::default(),
        }
    }
}
