//! The lock engine: no lock, a mutex of one app server, a lock on one node, Redlock over several.
//!
//! It is a library of its own. What it keeps to, because every shortcut here has cost somebody a lock:
//!
//! - All nodes are asked at once over one ordered, pipelined connection each, and the answer is there at the quorum.
//!   Late votes of a held lock still count; those of a failed attempt are taken back.
//! - A `SET` is never repeated behind the caller's back, and each attempt has a token of its own. A command that was
//!   written and not answered is *unknown*, never "failed", and a compare-and-delete follows it on the same connection.
//! - Clocks are read after the reply. A lock without validity left is never handed out.
//! - A node that owes replies gets nothing new but deletes until it replies, so it slows nobody and collects nothing.
//!
//! No lock can tell a holder that is stopped that it is lost: [`fence`] says what to do about that.
//!
//! [`Redlock`] is where to begin; [`Lock`] is the same with terms for each acquire, and has the weaker strategies too.
//!
//! # What a node's user must be allowed
//! `SET`, `GET`, `DEL`, `PEXPIRE`, `PTTL`, `EVALSHA` and `EVAL` on the keys; `SCRIPT LOAD` saves sending the scripts. To
//! wait in line also `PUBLISH` and `SUBSCRIBE` on the channels `lockstorm:released:` + key; without them waiting works by
//! asking again. `DELIFEQ` (Valkey 9) or `DELEX` (Redis 8.4) are used where the server has them and the user may. So:
//!
//! ```text
//! ACL SETUSER locks on >secret ~* resetchannels &lockstorm:released:*
//!     +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish +subscribe +unsubscribe +ping
//! ```
//!
//! A node that does not allow it gives no vote, with the cause [`NoPermission`](crate::model::Cause::NoPermission); if
//! that is what a quorum fails for, the refusal is [`Refusal::NotPermitted`].
//!
//! # TLS
//! Nodes are reached over TLS at URLs like `rediss://user:password@host:6380/0`, with the feature `tls`, which is on by
//! default. The node must have a certificate for the host of the URL, signed by somebody whom this machine trusts, or by
//! an authority in the file that the environment variable `SSL_CERT_FILE` names, which then counts instead of the
//! machine's own. They are read by [`Nodes::open`]. There is no way around that check: `#insecure` is refused. A node that
//! fails it gives no vote, with the cause [`Tls`](crate::model::Cause::Tls).
//!
//! We have no certificate of our own to show: nodes must not ask for it (`tls-auth-clients no`), but for a password.
//!
//! # What may stay behind
//! Nothing, with one exception: if a connection dies while a `SET` is under way and the node runs it only after the
//! delete that was sent on the next connection has expired, its key stays until its TTL is over.

mod address;
mod announcement;
mod ballot;
mod channel;
mod channels;
mod claim;
mod connection;
mod feed;
pub mod fence;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod gauges;
mod greeting;
mod guard;
mod job;
mod lease;
mod line;
mod listener;
mod local;
mod node;
mod nodes;
mod queue;
mod quorum;
mod redlock;
mod refusal;
mod renewals;
mod reply;
mod round;
mod stream;
mod tally;
#[cfg(feature = "tls")]
mod tls;
mod wire;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use address::{BadAddress, NodeAddress};
pub use gauges::{Gauges, Sent};
pub use guard::{Guard, LateVotes, Released};
pub use nodes::{NodeOptions, Nodes};
pub use redlock::{Redlock, RedlockBuilder};
pub use refusal::{NotExtended, Refusal};

use crate::model::Wait;
use local::Local;
use quorum::Quorum;

/// The terms of one acquire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long nodes keep the lock without an extension; whole milliseconds, 1 at least.
    pub ttl: Duration,
    /// How often a held lock is extended; none leaves it to its TTL.
    pub renew: Option<Duration>,
    /// What happens when the lock is not to be had at once.
    pub wait: Wait,
    /// The bound of the whole acquire, all attempts and waits included.
    pub deadline: Duration,
    /// How long a node may take for a reply before the attempt goes on without it. Counted from when it was asked: time in
    /// the app server's own queue counts against the deadline only. Never longer than the TTL, whatever is given here.
    pub node_timeout: Duration,
    /// How long a lock may be held at most, renewals and extensions included; none: as long as it is extended.
    pub lifetime: Option<Duration>,
    /// Whether a renewed lock asks nodes that lost its key (restarted without persistence, say) for it again. It raises
    /// the votes again and so the number of nodes that may forget before somebody else gets in. It never sets a key of
    /// somebody else aside, and never revives a lock that is lost. What it may hide: if a second node forgets in the
    /// moment before the first one is repaired, somebody else may have held the lock in that moment, and the next
    /// renewal does not show it. Without it the renewal would have told that the lock was lost.
    pub repair: bool,
}

impl Default for Terms {
    /// A TTL of 10 s without renewal, fail-fast, 1 s for all of it and 40 ms for each node.
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(10),
            renew: None,
            wait: Wait::FailFast,
            deadline: Duration::from_secs(1),
            node_timeout: Duration::from_millis(40),
            lifetime: None,
            repair: false,
        }
    }
}

/// Longer than anything is waited for, and short enough that no clock overflows.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl Terms {
    /// These terms within the bounds of clocks and of nodes, which count whole milliseconds.
    fn bounded(self) -> Self {
        let millisecond = Duration::from_millis(1);
        let whole = |duration: Duration| Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        let ttl = whole(self.ttl.clamp(millisecond, FOREVER));
        Self {
            ttl,
            renew: self.renew.map(|interval| interval.clamp(millisecond, FOREVER)),
            wait: self.wait,
            deadline: self.deadline.min(FOREVER),
            // Later votes are worth nothing.
            node_timeout: self.node_timeout.min(ttl),
            lifetime: self.lifetime.map(|most| most.min(FOREVER)),
            repair: self.repair,
        }
    }
}

/// A lock strategy of one app server. Clones share its connections, waiters and gauges.
#[derive(Debug, Clone)]
pub struct Lock {
    strategy: Strategy,
    gauges: Arc<Gauges>,
}

#[derive(Debug, Clone)]
enum Strategy {
    None,
    Local(Local),
    Quorum(Arc<Quorum>),
}

impl Lock {
    /// No lock: everybody gets it at once.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Strategy::None)
    }

    /// A mutex for each key, in this process and among the clones of this lock only. First come, first served; it has
    /// no TTL and can't be lost.
    #[must_use]
    pub fn local() -> Self {
        Self::new(Strategy::Local(Local::default()))
    }

    /// A lock on the one node at `index`. `seed` draws the jitter of retries.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn single(nodes: &Nodes, index: usize, seed: u64) -> Self {
        Self::redlock(&nodes.subset(&[index]), seed)
    }

    /// A lock that a majority of all nodes must vote for. `seed` draws the jitter of retries.
    #[must_use]
    pub fn redlock(nodes: &Nodes, seed: u64) -> Self {
        Self::new(Strategy::Quorum(Arc::new(Quorum::new(nodes.clone(), seed))))
    }

    fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            gauges: Arc::default(),
        }
    }

    /// Acquires the lock on `key`. Dropping the future takes back whatever was asked for so far.
    ///
    /// # Errors
    /// The [`Refusal`] of the last attempt.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire(&self, key: &str, terms: &Terms) -> Result<Guard, Refusal> {
        let terms = &terms.bounded();
        match &self.strategy {
            Strategy::None => Ok(Guard::nothing()),
            Strategy::Local(local) => {
                self.gauges.attempt();
                let deadline = (terms.wait != Wait::FailFast).then(|| Instant::now() + terms.deadline);
                local
                    .acquire(key, &self.gauges, deadline)
                    .await
                    .ok_or(Refusal::Contended)
            }
            Strategy::Quorum(quorum) => quorum.acquire(key, terms, &self.gauges).await,
        }
    }

    /// The same with one attempt, however the terms say to wait. If they say in line, those who do are told of the
    /// release.
    ///
    /// # Errors
    /// The [`Refusal`] of the attempt.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn try_acquire(&self, key: &str, terms: &Terms) -> Result<Guard, Refusal> {
        match &self.strategy {
            Strategy::Quorum(quorum) => quorum.try_acquire(key, &terms.bounded(), &self.gauges).await,
            Strategy::None | Strategy::Local(_) => {
                let wait = Wait::FailFast;
                self.acquire(key, &Terms { wait, ..*terms }).await
            }
        }
    }

    /// The same lock, with the same connections and waiters, that counts in other gauges.
    #[must_use]
    pub fn counted_by(&self, gauges: Arc<Gauges>) -> Self {
        Self {
            strategy: self.strategy.clone(),
            gauges,
        }
    }

    /// What this lock is doing now.
    #[must_use]
    pub fn gauges(&self) -> Arc<Gauges> {
        Arc::clone(&self.gauges)
    }
}
