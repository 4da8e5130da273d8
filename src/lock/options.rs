use std::time::Duration;

use crate::Wait;
use crate::clock::FOREVER;
use crate::protocol::Rules;

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

impl AcquireOptions {
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
