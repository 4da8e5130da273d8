use std::{fmt, time::Duration};

use crate::protocol::{MAX_NODES, Rules, Wait};

/// A range of durations from which one is drawn evenly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The shortest.
    pub least: Duration,
    /// The longest, not shorter than that.
    pub most: Duration,
}

impl Span {
    /// Always the same.
    #[must_use]
    pub const fn of(duration: Duration) -> Self {
        Self {
            least: duration,
            most: duration,
        }
    }

    /// So many microseconds.
    #[must_use]
    pub const fn micros(least: u64, most: u64) -> Self {
        Self {
            least: Duration::from_micros(least),
            most: Duration::from_micros(most),
        }
    }
}

/// How long a message takes, in each direction of a connection. What was sent later never arrives earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Of nearly all messages, and of all of them once the world is healed.
    pub usual: Span,
    /// Of the others.
    pub long: Span,
    /// How many of a thousand messages take long, 0 to 1000.
    pub long_per_mille: u32,
}

/// How a worker wants its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquireSettings {
    /// TTL, reply timeout, lifetime, repair. Nodes count the TTL in whole milliseconds; a part of one is cut off.
    pub rules: Rules,
    /// How often a held lock is extended; none: it ends with its TTL.
    pub renew: Option<Duration>,
    /// What happens when the lock is not to be had at once.
    pub wait: Wait,
    /// The bound of an acquire, all of its attempts together.
    pub timeout: Duration,
}

/// What breaks, how often, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Between one fault and the next.
    pub every: Span,
    /// How long a pause, an outage or a freeze lasts.
    pub lasts: Span,
    /// How often which of them comes, in proportion to the others.
    pub weights: Weights,
}

/// How often each kind of fault comes, in proportion to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weights {
    /// A node stops, and goes on later with what it got meanwhile.
    pub pause: u32,
    /// A node dies, and comes back with its keys.
    pub crash: u32,
    /// A node dies, and comes back without any key.
    pub forget: u32,
    /// A connection breaks, and what is under way on it may or may not arrive.
    pub cut: u32,
    /// An app server stops, and goes on later.
    pub freeze: u32,
    /// An app server dies, and another one comes in its place.
    pub kill: u32,
}

/// All that a [`World`](super::World) is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Lock nodes, 1 to 64.
    pub nodes: usize,
    /// Processes with connections and a clock of their own, 1 or more.
    pub app_servers: usize,
    /// Callers in each of them, 1 or more.
    pub workers: usize,
    /// Locks, 1 or more.
    pub keys: usize,
    /// Whether each worker always wants the same key, so that with a key for each of them nobody waits for anybody.
    pub own_keys: bool,
    /// How workers want their locks: the first worker of the first app server as the first of these says, and so on in turn.
    pub wants: Vec<AcquireSettings>,
    /// Between the end of one cycle of a worker and its next acquire; more than 0.
    pub think: Span,
    /// How long a worker wants to hold a lock.
    pub hold: Span,
    /// How long messages take.
    pub delay: Delay,
    /// The most by which timers fire, tasks run and commands are written late, 1900 µs at most: locks signal their loss 2 ms
    /// before their validity ends, since timers are not later than that.
    pub lag: Duration,
    /// The most by which clocks of nodes and app servers are fast or slow, in millionths, 0 to 5000.
    pub drift_ppm: u32,
    /// From a broken connection, or one that could not be made, to the next try.
    pub reconnect: Duration,
    /// An app server leaves the channel of a key that it has not waited for so long.
    pub channel_idle: Duration,
    /// Commands that may owe an answer on a connection, 1 or more; [`WINDOW`](crate::protocol::WINDOW) in the lock engine.
    pub window: usize,
    /// How many of a thousand acquires are given up, or their guards dropped, before they are over: 0 to 1000.
    pub give_up_per_mille: u32,
    /// How many of a thousand holders stop when they hear that the lock is lost; the others go on until their time is over.
    pub heed_loss_per_mille: u32,
    /// What breaks; none: nothing.
    pub faults: Option<Faults>,
    /// How long workers want locks and things break, before [`World::finish`](super::World::finish) heals everything.
    pub busy: Duration,
}

/// The most that timers may be late, see [`Settings::lag`].
const MOST_LAG: Duration = Duration::from_micros(1900);

/// The most by which clocks may be fast or slow: two of them are then 1 % apart, which is what a lock allows for.
const MOST_DRIFT: u32 = 5000;

/// Why there is no world of these settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit(&'static str);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unfit {}

impl Settings {
    /// Whether a world can be made of them.
    ///
    /// # Errors
    /// What is beyond its range.
    pub fn check(&self) -> Result<(), Unfit> {
        let positive = [self.app_servers, self.workers, self.keys, self.wants.len(), self.window];
        let spans = [self.think, self.hold, self.delay.usual, self.delay.long];
        let fault_spans = self.faults.iter().flat_map(|faults| [faults.every, faults.lasts]);
        let fits = |wants: &AcquireSettings| {
            wants.rules.ttl >= Duration::from_millis(1)
                && wants.rules.reply_timeout <= wants.rules.ttl
                && !wants.rules.reply_timeout.is_zero()
        };
        let per_mille = [
            self.delay.long_per_mille,
            self.give_up_per_mille,
            self.heed_loss_per_mille,
        ];
        if !(1..=MAX_NODES).contains(&self.nodes) {
            Err(Unfit("there are 1 to 64 nodes"))
        } else if positive.contains(&0) {
            Err(Unfit("app servers, workers, keys, wants and the window are 1 or more"))
        } else if spans.into_iter().chain(fault_spans).any(|span| span.least > span.most) {
            Err(Unfit("the most of a span is not less than its least"))
        } else if !self.wants.iter().all(fits) {
            Err(Unfit(
                "a TTL is 1 ms or more, and a reply timeout is more than 0 and not longer than the TTL",
            ))
        } else if self.think.least.is_zero() || self.faults.is_some_and(|faults| faults.every.least.is_zero()) {
            Err(Unfit("some time passes between cycles, and between faults"))
        } else if self.lag > MOST_LAG || self.drift_ppm > MOST_DRIFT {
            Err(Unfit("timers are 1.9 ms late at most, and clocks 0.5 % fast or slow"))
        } else if per_mille.into_iter().any(|part| part > 1000) {
            Err(Unfit("a part of a thousand is 1000 at most"))
        } else {
            Ok(())
        }
    }

    /// How a worker wants its lock, counted over all app servers.
    pub(super) fn wants_of(&self, worker: usize) -> &AcquireSettings {
        &self.wants[worker % self.wants.len()]
    }

    /// The longest TTL of all.
    pub(super) fn longest_ttl(&self) -> Duration {
        let ttls = self.wants.iter().map(|wants| wants.rules.ttl);
        ttls.max().unwrap_or_default()
    }

    /// The longest time that a node may take for an answer.
    pub(super) fn longest_reply_timeout(&self) -> Duration {
        let timeouts = self.wants.iter().map(|wants| wants.rules.reply_timeout);
        timeouts.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_its_range_is_refused() {
        let fit = Settings::drawn(1);
        assert_eq!(fit.check(), Ok(()));
        let changes: [fn(&mut Settings); 7] = [
            |settings| settings.nodes = 65,
            |settings| settings.workers = 0,
            |settings| settings.delay.usual.most = Duration::ZERO,
            |settings| settings.wants[0].rules.reply_timeout = Duration::from_secs(9),
            |settings| settings.think = Span::of(Duration::ZERO),
            |settings| settings.drift_ppm = 5001,
            |settings| settings.give_up_per_mille = 1001,
        ];
        for change in changes {
            let mut unfit = fit.clone();
            change(&mut unfit);
            assert!(unfit.check().is_err());
        }
    }
}
