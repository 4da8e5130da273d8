use std::time::Duration;

use crate::clock::FOREVER;
use crate::protocol::Wait;
use crate::protocol::{Rules, validity};

/// Setters of the options of acquires, for a type that has such options.
macro_rules! option_setters {
    ($self:ident, $options:expr) => {
        /// How long nodes keep the lock without an extension; 10 s if left out. The lock can be relied on for 1 % and 2 ms less.
        #[must_use]
        pub const fn ttl(mut $self, ttl: Duration) -> Self {
            $options.ttl = ttl;
            $self
        }

        /// The interval at which a held lock is extended, for example a third or half of the TTL. If left out, the lock ends
        /// with its TTL.
        #[must_use]
        pub const fn renew_every(mut $self, interval: Duration) -> Self {
            $options.renew = Some(interval);
            $self
        }

        /// The longest that a lock may be held, however often it is extended.
        #[must_use]
        pub const fn lifetime(mut $self, most: Duration) -> Self {
            $options.lifetime = Some(most);
            $self
        }

        /// Whether renewals ask nodes that lost the key to set it again; see [`AcquireOptions`](crate::AcquireOptions::repair).
        #[must_use]
        pub const fn repair(mut $self, repair: bool) -> Self {
            $options.repair = repair;
            $self
        }

        /// Waits in line, for `timeout` at most, if somebody else holds the lock or too few nodes can be asked. If left out,
        /// such an acquire is refused at once. Only clones of one lock share a line, so build it once.
        #[must_use]
        pub const fn wait_up_to($self, timeout: Duration) -> Self {
            $self.wait(Wait::Queue).timeout(timeout)
        }

        /// The longest that an acquire may take, however it waits; 1 s if left out.
        #[must_use]
        pub const fn timeout(mut $self, timeout: Duration) -> Self {
            $options.timeout = timeout;
            $self
        }

        /// Any other way to wait.
        #[must_use]
        pub const fn wait(mut $self, wait: Wait) -> Self {
            $options.wait = wait;
            $self
        }

        /// How long to wait for a node's reply, if that is less than the nodes' own
        /// [`node_timeout`](crate::NodeOptions::node_timeout). Choose more than the longest usual round trip.
        #[must_use]
        pub const fn reply_timeout(mut $self, timeout: Duration) -> Self {
            $options.reply_timeout = Some(timeout);
            $self
        }
    };
}
pub(crate) use option_setters;

/// The options of one acquire. Its setters have the names of its fields, or say more than these:
///
/// ```
/// # use std::time::Duration;
/// use lockstorm_lock::AcquireOptions;
///
/// const OPTIONS: AcquireOptions = AcquireOptions::new()
///     .ttl(Duration::from_secs(5))
///     .renew_every(Duration::from_secs(2))
///     .wait_up_to(Duration::from_secs(1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// [`AcquireOptions::new`].
    fn default() -> Self {
        Self::new()
    }
}

/// Why a lock with some options is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// A time is 0.
    #[error("{option} is 0; nothing can be done in that time")]
    Zero {
        /// The option's name.
        option: &'static str,
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

const MILLISECOND: Duration = Duration::from_millis(1);

/// A TTL limited to what clocks can represent, and to whole milliseconds, in which nodes count.
pub(crate) fn bounded(ttl: Duration) -> Duration {
    let millis = ttl.clamp(MILLISECOND, FOREVER).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

impl AcquireOptions {
    /// A TTL of 10 s without renewal, fail-fast, a timeout of 1 s for the whole acquire, and the nodes' own reply timeout.
    #[must_use]
    pub const fn new() -> Self {
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

    option_setters!(self, self);

    /// Checks that a lock with these options can be held, and kept by its renewal.
    ///
    /// # Errors
    /// The first reason why it can't.
    pub fn check(&self) -> Result<(), Unusable> {
        let bounded = self.bounded();
        if validity(bounded.ttl).is_zero() {
            return Err(Unusable::TtlTooShort { ttl: self.ttl });
        }
        let times = [
            ("renew", self.renew),
            ("timeout", Some(self.timeout)),
            ("lifetime", self.lifetime),
            ("reply_timeout", self.reply_timeout),
        ];
        if let Some((option, _)) = times.iter().find(|(_, time)| *time == Some(Duration::ZERO)) {
            return Err(Unusable::Zero { option });
        }
        match self.renew {
            Some(renew) if renew >= bounded.ttl => Err(Unusable::RenewedTooLate { ttl: self.ttl, renew }),
            _ => Ok(()),
        }
    }

    /// These options limited to what clocks can represent, and to whole milliseconds, in which nodes count.
    pub(crate) fn bounded(self) -> Self {
        Self {
            ttl: bounded(self.ttl),
            renew: self.renew.map(|interval| interval.clamp(MILLISECOND, FOREVER)),
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
