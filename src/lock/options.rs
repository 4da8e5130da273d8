use std::time::Duration;

use crate::{Wait, clock::FOREVER, protocol::Rules};

/// The options of one acquire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquireOptions {
    /// How long nodes keep the lock without an extension; whole milliseconds, 1 at least.
    pub ttl: Duration,
    /// How often a held lock is extended; none leaves it to its TTL.
    pub renew: Option<Duration>,
    /// What happens when the lock is not to be had at once.
    pub wait: Wait,
    /// The longest that the whole acquire may take, all attempts and waits included.
    pub timeout: Duration,
    /// How long an attempt, an extension or a release waits for a node's reply, if that is less than the nodes'
    /// [`node_timeout`](crate::NodeOptions::node_timeout). Counted from when the node was asked: time in the app server's own
    /// queue counts against the timeout of the acquire only. Never longer than the TTL, whatever is given here.
    pub reply_timeout: Option<Duration>,
    /// How long a lock may be held at most, renewals and extensions included; none: as long as it is extended.
    pub lifetime: Option<Duration>,
    /// Whether a renewed lock asks nodes that lost its key (restarted without persistence, say) for it again. It raises
    /// the votes again and so the number of nodes that may forget before somebody else gets in. It never sets a key of
    /// somebody else aside, and never revives a lock that is lost. What it may hide: if a second node forgets in the
    /// moment before the first one is repaired, somebody else may have held the lock in that moment, and the next
    /// renewal does not show it. Without it the renewal would have told that the lock was lost.
    pub repair: bool,
}

impl Default for AcquireOptions {
    /// A TTL of 10 s without renewal, fail-fast, 1 s for all of it, and for each node as long as nodes may take.
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
    /// These options within the bounds of clocks and of nodes, which count whole milliseconds.
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

    /// What holds for each attempt on nodes that may take so long for a reply.
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
