use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use super::hold::{KeyLife, OtherHold};
use super::other::OtherLock;
use lockstorm_lock::{AcquireOptions, Gauges, LateVotes, Refusal};

/// The lock of an arm, as one app server uses it.
#[derive(Debug, Clone)]
pub enum Lock {
    /// One of the engine's.
    Engine(lockstorm_lock::Lock),
    /// Another one.
    Other(Arc<dyn OtherLock>),
}

/// A lock that a worker holds. Release it; if it is dropped instead, only the engine's is released by that.
#[derive(Debug)]
pub enum Guard {
    /// The engine's.
    Engine(lockstorm_lock::Guard),
    /// Another one.
    Other(OtherGuard),
}

/// A lock that is not the engine's, held by a worker.
#[derive(Debug)]
pub struct OtherGuard {
    lock: Arc<dyn OtherLock>,
    hold: Arc<OtherHold>,
}

/// A lock that is or was held, seen from outside its section. It does not keep the lock.
#[derive(Debug, Clone)]
pub enum HeldLock {
    /// The engine's.
    Engine(lockstorm_lock::HeldLock),
    /// Another one.
    Other(Arc<OtherHold>),
}

impl From<lockstorm_lock::Lock> for Lock {
    fn from(lock: lockstorm_lock::Lock) -> Self {
        Self::Engine(lock)
    }
}

impl Lock {
    /// Acquires the lock on `key`.
    ///
    /// # Errors
    /// Why it was not acquired.
    pub async fn acquire(&self, key: &str, options: &AcquireOptions) -> Result<Guard, Refusal> {
        match self {
            Self::Engine(lock) => lock.acquire(key, options).await.map(Guard::Engine),
            Self::Other(lock) => {
                let (hold, lock) = (lock.acquire(key, options).await?, Arc::clone(lock));
                Ok(Guard::Other(OtherGuard { lock, hold }))
            }
        }
    }

    /// This lock, counted by other gauges if it is the engine's.
    #[must_use]
    pub fn counted_by(&self, gauges: Arc<Gauges>) -> Self {
        match self {
            Self::Engine(lock) => Self::Engine(lock.counted_by(gauges)),
            Self::Other(_) => self.clone(),
        }
    }

    /// What the lock is doing now. Only the engine's tells.
    pub fn gauges(&self) -> Arc<Gauges> {
        match self {
            Self::Engine(lock) => lock.gauges(),
            Self::Other(_) => Arc::default(),
        }
    }
}

impl Guard {
    /// The number of nodes that are known to have voted for it; 0 for a lock without nodes.
    pub fn votes(&self) -> usize {
        match self {
            Self::Engine(guard) => guard.votes(),
            Self::Other(guard) => guard.hold.granted.voters.len(),
        }
    }

    /// The number of nodes that were asked; 0 for a lock without nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Engine(guard) => guard.nodes(),
            Self::Other(guard) => guard.hold.granted.nodes,
        }
    }

    /// The servers that voted for it, as far as that is known.
    pub fn voters(&self) -> Vec<SocketAddr> {
        match self {
            Self::Engine(guard) => guard.voters(),
            Self::Other(guard) => guard.hold.granted.voters.clone(),
        }
    }

    /// The number that fences its holder, if the lock hands one out.
    pub fn fence(&self) -> Option<u64> {
        match self {
            Self::Engine(_) => None,
            Self::Other(guard) => guard.hold.granted.fence,
        }
    }

    /// Whether it is known who voted for it.
    pub fn tells_votes(&self) -> bool {
        match self {
            Self::Engine(_) => true,
            Self::Other(guard) => !guard.hold.granted.voters.is_empty(),
        }
    }

    /// The lock, to be looked at while the guard is in use; `None` for one of the engine's that is on no nodes.
    pub fn held_lock(&self) -> Option<HeldLock> {
        match self {
            Self::Engine(guard) => guard.held_lock().map(HeldLock::Engine),
            Self::Other(guard) => Some(HeldLock::Other(Arc::clone(&guard.hold))),
        }
    }

    /// Whether the lock can't be relied on any more.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Engine(guard) => guard.is_lost(),
            Self::Other(guard) => guard.hold.is_lost(),
        }
    }

    /// Whether the section has outlasted the lock.
    pub fn overran(&self) -> bool {
        match self {
            Self::Engine(guard) => guard.overran(),
            Self::Other(guard) => guard.hold.overran(),
        }
    }

    /// The final number of votes; `None` for a lock that waits for no more once it is granted. Call this before the release.
    pub fn late_votes(&self) -> Option<LateVotes> {
        match self {
            Self::Engine(guard) => Some(guard.late_votes()),
            Self::Other(_) => None,
        }
    }

    /// Releases the lock. Returns whether most nodes, or another lock than the engine's, have confirmed that.
    pub async fn release(self) -> bool {
        match self {
            Self::Engine(guard) => {
                let released = guard.release().await;
                // Without nodes there is nothing to confirm.
                released.unconfirmed < (released.deleted + released.gone).max(1)
            }
            Self::Other(guard) => {
                guard.hold.end();
                guard.lock.release(&guard.hold).await
            }
        }
    }
}

impl Drop for OtherGuard {
    fn drop(&mut self) {
        self.hold.end();
    }
}

impl HeldLock {
    /// The name of its keys.
    pub fn key(&self) -> &str {
        match self {
            // Our keys are texts.
            Self::Engine(lock) => str::from_utf8(lock.key()).unwrap_or_default(),
            Self::Other(hold) => &hold.granted.key,
        }
    }

    /// The value of its keys.
    pub fn token(&self) -> &str {
        match self {
            Self::Engine(lock) => lock.token(),
            Self::Other(hold) => &hold.granted.token,
        }
    }

    /// When the attempt began by which it was acquired.
    pub fn asked(&self) -> Instant {
        match self {
            Self::Engine(lock) => lock.asked(),
            Self::Other(hold) => hold.granted.asked,
        }
    }

    /// When it was granted, at the latest; of the engine's locks the votes tell more.
    pub fn granted(&self) -> Instant {
        match self {
            Self::Engine(lock) => lock.asked(),
            Self::Other(hold) => hold.since,
        }
    }

    /// The number that fences its holder, if the lock hands one out.
    pub fn fence(&self) -> Option<u64> {
        match self {
            Self::Engine(_) => None,
            Self::Other(hold) => hold.granted.fence,
        }
    }

    /// Until when its holder has reason to rely on it, as far as is known by now: the end of its validity, which a renewal may put off,
    /// or when it was lost. `None`: without end. A release changes nothing.
    pub fn relied_until(&self) -> Option<Instant> {
        match self {
            Self::Engine(lock) => Some(lock.relied_until()),
            Self::Other(hold) => hold.relied_until(),
        }
    }

    /// How long its keys live, if its holder does not hear of their end.
    pub fn key_life(&self) -> Option<KeyLife> {
        match self {
            Self::Engine(_) => None,
            Self::Other(hold) => hold.key_life(),
        }
    }

    /// Whether its client said at the release that it was still held. The engine's releases compare tokens.
    pub fn was_released(&self) -> bool {
        match self {
            Self::Engine(_) => false,
            Self::Other(hold) => hold.was_released(),
        }
    }

    /// Whether a lock that is not the engine's has told that it is lost. The engine's knows it at its release at the latest.
    pub fn tells_loss(&self) -> bool {
        match self {
            Self::Engine(_) => false,
            Self::Other(hold) => hold.tells_loss(),
        }
    }

    /// The number of nodes that were asked.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Engine(lock) => lock.nodes(),
            Self::Other(hold) => hold.granted.nodes,
        }
    }

    /// The number of votes that such a lock needs: more than half of the nodes.
    pub fn quorum(&self) -> usize {
        self.nodes() / 2 + 1
    }

    /// The servers that voted for it so far.
    pub fn voters(&self) -> Vec<SocketAddr> {
        match self {
            Self::Engine(lock) => lock.voters(),
            Self::Other(hold) => hold.granted.voters.clone(),
        }
    }

    /// Whether its holder may still rely on it: it is not released, and its validity has not ended.
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Engine(lock) => lock.is_valid(),
            Self::Other(hold) => !hold.is_over() && !hold.is_lost(),
        }
    }
}
