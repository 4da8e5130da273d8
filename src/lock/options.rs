use std::time::Duration;

use crate::clock::FOREVER;
use crate::protocol::Wait;
use crate::protocol::{Rules, validity};

/// The options of one acquire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquireOptions {
    /// How long nodes keep the lock without an extension; whole milliseconds, at least 1.
    pub ttl: Duration,
    /// How often a held lock is extended; `None` lets it expire at its TTL.
    pub renew: Option<Duration>,
    /// What happens when the lock is not free at once.
    pub wait: Wait,
    /// The longest that the whole acquire may take, all attempts and waits included.
    pub timeout: Duration,
    /// How long an attempt, an extension or a release waits for a node's reply, if that is less than the nodes'
    /// [`node_timeout`](crate::NodeOptions::node_timeout), with the time that they may wait for replicas. For an attempt it counts from when the commands are written to
    /// the nodes: time in the app server's own queue counts against the timeout of the acquire only. It is never longer than
    /// the TTL, whatever is given here.
    pub reply_timeout: Option<Duration>,
    /// The longest that a lock may be held, renewals and extensions included; `None` sets no bound.
    pub lifetime: Option<Duration>,
    /// Whether the renewal of a lock asks nodes that lost its key (restarted without persistence, say) to set it again. That
    /// restores the votes, and so the number of nodes that may forget the key before somebody else can get the lock. A
    /// repair never replaces somebody else's key and never revives a lost lock. It may hide a loss: if a second node forgets
    /// the key just before the first one is repaired, somebody else may have held the lock in that moment, and the next
    /// renewal does not notice. Without repair the renewal would have found the lock lost.
    pub repair: bool,
}

impl Default for AcquireOptions {
    /// A TTL of 10 s without renewal, fail-fast, a timeout of 1 s for the whole acquire, and the nodes' own reply timeout.
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(10),
            renew: None,
            wait: Wait::FailFast,
            timeout: Duration::from_secs(1),
            reply_timeout: None,
            lifetime: None,
            repair: false,
        }
    }
}

/// Why a lock with some options is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There are no nodes, so nobody could vote.
    #[error("there are no nodes; a lock needs one at least")]
    NoNodes,
    /// Nothing is left of the TTL but the margin for clocks that drift, which is 1 % and 2 ms.
    #[error("a TTL of {ttl:?} is too short: a lock can be relied on for 1 % and 2 ms less")]
    TtlTooShort {
        /// The TTL.
        ttl: Duration,
    },
    /// The lock would end before its first renewal.
    #[error(
        "a lock with a TTL of {ttl:?} that is renewed every {renew:?} ends before its renewal; choose a third of the TTL"
    )]
    RenewedTooLate {
        /// The TTL.
        ttl: Duration,
        /// The interval of the renewals.
        renew: Duration,
    },
}

impl AcquireOptions {
    /// Checks that a lock with these options can be held, and kept by its renewal.
    ///
    /// # Errors
    /// The first reason why it can't.
    pub fn check(&self) -> Result<(), Unusable> {
        let bounded = self.bounded();
        if validity(bounded.ttl).is_zero() {
            return Err(Unusable::TtlTooShort { ttl: self.ttl });
        }
        match self.renew {
            Some(renew) if renew >= bounded.ttl => Err(Unusable::RenewedTooLate { ttl: self.ttl, renew }),
            _ => Ok(()),
        }
    }

    /// These options limited to what clocks can represent, and to whole milliseconds, in which nodes count.
    pub(crate) fn bounded(self) -> Self {
        let millisecond = Duration::from_millis(1);
        let whole = |duration: Duration| Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        Self {
            ttl: whole(self.ttl.clamp(millisecond, FOREVER)),
            renew: self.renew.map(|interval| interval.clamp(millisecond, FOREVER)),
            timeout: self.timeout.min(FOREVER),
            lifetime: self.lifetime.map(|most| most.min(FOREVER)),
            ..self
        }
    }

    /// The rules of each attempt on nodes whose replies may take `node_timeout`.
    pub(crate) fn rules(&self, node_timeout: Duration) -> Rules {
        let reply_timeout = self.reply_timeout.unwrap_or(node_timeout).min(node_timeout);
        Rules {
            ttl: self.ttl,
            // Later votes are worth nothing.
            reply_timeout: reply_timeout.min(self.ttl),
            lifetime: self.lifetime,
            repair: self.repair,
        }
    }
}
