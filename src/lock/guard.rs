use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock;
use crate::local::LocalGuard;
use crate::options::bounded;
use crate::protocol::{Released, quorum};
use crate::quorum::lock::{Owned, QuorumLock};
use crate::refusal::NotExtended;
use crate::renewals::Renewing;
use crate::waiting::lines::Permit;

/// A held lock. Dropping the guard releases the lock in the background, without waiting for any node; once the runtime has
/// ended (the app server was killed), nothing is sent and the keys keep their TTL.
#[derive(Debug)]
#[must_use = "dropping a guard releases the lock"]
pub struct Guard {
    kind: Kind,
    attempts: u32,
    waited: bool,
}

#[derive(Debug)]
enum Kind {
    /// No lock at all.
    Nothing,
    Local(LocalGuard),
    Quorum(QuorumGuard),
}

#[derive(Debug)]
struct QuorumGuard {
    lock: Owned,
    /// The renewal ends when the guard is dropped.
    renewing: Option<Renewing>,
    /// Passes to the next waiter of this app server once the deletes are queued, so that the waiter's commands are sent
    /// behind them.
    permit: Option<Permit>,
}

/// Votes of a lock that may come after its release.
#[derive(Debug)]
pub struct LateVotes(Option<Arc<QuorumLock>>);

impl LateVotes {
    /// The number of votes, if no more can come.
    #[must_use]
    pub fn known(&self) -> Option<usize> {
        self.0.as_ref().map_or(Some(0), |lock| lock.all_votes())
    }

    /// Waits until every node has answered, or until its time to reply to the acquire is over; returns the number of votes.
    pub async fn wait(self) -> usize {
        let Some(lock) = &self.0 else { return 0 };
        let (_, until) = lock.votes_so_far();
        let mut pause = Duration::from_millis(1);
        // Polling is cheap enough, since few locks are released before all nodes have answered.
        while self.known().is_none() && clock::now() < until {
            clock::sleep_until(until.min(clock::now() + pause)).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        lock.votes_so_far().0
    }
}

/// A lock that is or was held, seen from outside its section. It does not keep the lock.
#[derive(Debug, Clone)]
pub struct HeldLock(Arc<QuorumLock>);

impl HeldLock {
    /// The name of its keys.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.0.key()
    }

    /// The value of its keys.
    #[must_use]
    pub fn token(&self) -> &str {
        self.0.token()
    }

    /// When the attempt began by which it was acquired. If the machine was suspended since, that time is counted too, so it is
    /// before what the clock said then.
    #[must_use]
    pub fn asked(&self) -> Instant {
        clock::instant(self.0.start()).into_std()
    }

    /// Until when its holder had reason to rely on it, as far as is known by now: the end of its validity, which a renewal may put off, or
    /// when it was lost. A release changes nothing.
    #[must_use]
    pub fn relied_until(&self) -> Instant {
        clock::instant(self.0.lease().relied_until()).into_std()
    }

    /// The number of nodes that were asked.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.nodes()
    }

    /// The servers that voted for it so far; see [`Guard::voters`].
    #[must_use]
    pub fn voters(&self) -> Vec<SocketAddr> {
        self.0.voters()
    }

    /// Whether its holder may still rely on it: it is not released, and its validity has not ended.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.0.is_closed() && !self.0.lease().validity(clock::now()).is_zero()
    }
}

impl Guard {
    pub(crate) const fn nothing() -> Self {
        Self {
            kind: Kind::Nothing,
            attempts: 1,
            waited: false,
        }
    }

    pub(crate) const fn local(guard: LocalGuard) -> Self {
        let waited = guard.waited();
        Self {
            kind: Kind::Local(guard),
            attempts: 1,
            waited,
        }
    }

    pub(crate) const fn quorum(
        lock: Owned,
        renewing: Option<Renewing>,
        permit: Option<Permit>,
        attempts: u32,
        waited: bool,
    ) -> Self {
        Self {
            kind: Kind::Quorum(QuorumGuard { lock, renewing, permit }),
            attempts,
            waited,
        }
    }

    const fn lock(&self) -> Option<&Owned> {
        match &self.kind {
            Kind::Quorum(guard) => Some(&guard.lock),
            Kind::Nothing | Kind::Local(_) => None,
        }
    }

    /// The number of nodes known to have this lock's key; late votes raise it. 0 for a lock without nodes.
    #[must_use]
    pub fn votes(&self) -> usize {
        self.lock().map_or(0, |lock| lock.votes())
    }

    /// How many of the votes may be lost (by nodes that restart without persistence, say) before somebody else can get the
    /// lock: the votes beyond a quorum. A node that merely can't be reached still counts, since it still has its key. 0 for
    /// a lock without nodes.
    #[must_use]
    pub fn margin(&self) -> usize {
        self.votes().saturating_sub(quorum(self.nodes()))
    }

    /// The number of nodes that were asked. 0 for a lock without nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.lock().map_or(0, |lock| lock.nodes())
    }

    /// The addresses of the servers that voted for it, as far as their votes have come. A node that [follows](crate::Nodes::follow)
    /// an address, or the master that [Sentinels](crate::Sentinels) name, may be another server by now.
    #[must_use]
    pub fn voters(&self) -> Vec<SocketAddr> {
        self.lock().map_or_else(Vec::new, |lock| lock.voters())
    }

    /// The lock, to be looked at while the guard is in use; `None` for a lock without nodes.
    #[must_use]
    pub fn held_lock(&self) -> Option<HeldLock> {
        self.lock().map(|lock| HeldLock(Arc::clone(lock)))
    }

    /// The key that was acquired; empty for no lock at all.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match &self.kind {
            Kind::Nothing => &[],
            Kind::Local(guard) => guard.key(),
            Kind::Quorum(guard) => guard.lock.key(),
        }
    }

    /// The value of the keys, by which the nodes tell this holder from others. Empty for a lock without nodes.
    #[must_use]
    pub fn token(&self) -> &str {
        self.lock().map_or("", |lock| lock.token())
    }

    /// How long the lock may still be relied on; zero once it is lost, [`Duration::MAX`] for a lock without nodes.
    #[must_use]
    pub fn validity(&self) -> Duration {
        self.lock()
            .map_or(Duration::MAX, |lock| lock.lease().validity(clock::now()))
    }

    /// The number of attempts that the acquire took, at least 1.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether somebody else may have held the lock since the acquire began, because the acquire waited in line or between
    /// attempts. Data that was read before the acquire must then be read again.
    #[must_use]
    pub const fn waited(&self) -> bool {
        self.waited
    }

    /// Whether the lock can't be relied on any more: its validity ended, or too few nodes still have its key.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.validity().is_zero()
    }

    /// Whether the section has outlasted the lock: even the latest end of validity that the lock ever had is past. Always
    /// false for a lock without nodes.
    #[must_use]
    pub fn overran(&self) -> bool {
        self.lock().is_some_and(|lock| lock.lease().overran(clock::now()))
    }

    /// The final number of votes for this lock. Call this before the release.
    #[must_use]
    pub fn late_votes(&self) -> LateVotes {
        LateVotes(self.lock().map(|lock| Arc::clone(lock)))
    }

    /// Resolves when the lock is lost, up to 2 ms before its validity ends; never for a lock without nodes.
    pub async fn lost(&self) {
        match self.lock() {
            Some(lock) => lock.lost().await,
            None => pending().await,
        }
    }

    /// Extends the lock to its whole TTL from now, and returns how long it may be relied on. An extension never creates a
    /// key again.
    ///
    /// # Errors
    /// If the lock is lost, or if no quorum of nodes extended it within the reply timeout.
    pub async fn extend(&self) -> Result<Duration, NotExtended> {
        self.extend_by(None).await
    }

    /// Extends the lock to `ttl` from now, whatever its own TTL is, and returns how long it may be relied on: 1 % and 2 ms less,
    /// and no longer than its [`lifetime`](crate::AcquireOptions::lifetime). What it has already is never shortened. Renewals go
    /// on with the lock's own TTL.
    ///
    /// # Errors
    /// As [`Guard::extend`].
    pub async fn extend_to(&self, ttl: Duration) -> Result<Duration, NotExtended> {
        self.extend_by(Some(bounded(ttl))).await
    }

    async fn extend_by(&self, ttl: Option<Duration>) -> Result<Duration, NotExtended> {
        match self.lock() {
            Some(lock) => lock.extend(ttl).await,
            None => Ok(Duration::MAX),
        }
    }

    /// Releases the lock. Resolves when a quorum of nodes has confirmed the delete, all nodes have answered, or the reply
    /// timeout is over, whichever comes first; the other deletes go on in the background.
    pub async fn release(self) -> Released {
        self.begin_release().await
    }

    /// Releases the lock at once; what it returns resolves as [`release`](Self::release) does.
    pub(crate) fn begin_release(self) -> impl Future<Output = Released> {
        let released = match self.kind {
            Kind::Quorum(QuorumGuard { lock, renewing, permit }) => {
                let now = clock::lately();
                lock.release(now);
                drop((renewing, permit));
                Some((lock, now))
            }
            Kind::Nothing | Kind::Local(_) => None,
        };
        async move {
            match released {
                Some((lock, now)) => lock.released(now).await,
                None => Released::default(),
            }
        }
    }
}
