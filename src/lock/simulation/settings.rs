use std::fmt;
use std::time::Duration;

use super::draw::Draw;
use super::span::Span;
use crate::protocol::{MAX_NODES, Rules, Wait};

/// How long a message takes, in either direction of a connection. Messages never overtake each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// For nearly all messages, and for all of them once the world is healed.
    pub usual: Draw,
    /// For the other messages.
    pub long: Span,
    /// How many of a thousand messages take long, 0 to 1000.
    pub long_per_mille: u32,
    /// Whether answers take no time, so that what is drawn for a command is its whole round trip.
    pub round_trips: bool,
    /// Whether commands that an app server sends at the same time, to several nodes, take equally long: nodes that share a machine
    /// are slow together.
    pub together: bool,
}

/// How a worker acquires its locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquireSettings {
    /// TTL, reply timeout, lifetime, repair. Nodes count the TTL in whole milliseconds; fractions are cut off.
    pub rules: Rules,
    /// How often a held lock is extended; `None` lets it expire at its TTL.
    pub renew: Option<Duration>,
    /// What happens when the lock is not free at once.
    pub wait: Wait,
    /// The longest that an acquire may take, with all its attempts.
    pub timeout: Duration,
}

/// How often each app server pauses by itself, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freezes {
    /// The time from the end of one pause to the beginning of the next.
    pub every: Draw,
    /// How long it lasts.
    pub lasts: Draw,
    /// Whether holders have as much work left after a pause as before it. Otherwise they wait for something that goes on
    /// meanwhile.
    pub stops_work: bool,
}

/// What breaks, how often, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// The time between one fault and the next; it is hardly ever 0, or time would stand still.
    pub every: Draw,
    /// How long a pause, an outage or a freeze lasts.
    pub lasts: Draw,
    /// How often each kind of fault comes, in proportion to the others.
    pub weights: Weights,
}

/// How often each kind of fault comes, in proportion to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weights {
    /// A node stops, and later goes on with the commands that arrived meanwhile.
    pub pause: u32,
    /// A node dies, and comes back with its keys.
    pub crash: u32,
    /// A node dies, and comes back without any key.
    pub forget: u32,
    /// A connection breaks, and messages under way may or may not arrive.
    pub cut: u32,
    /// An app server stops, and goes on later.
    pub freeze: u32,
    /// An app server dies, and another one comes in its place.
    pub kill: u32,
    /// A node's clock jumps forward, by as much as another fault would last.
    pub jump: u32,
    /// A node's clock jumps back.
    pub jump_back: u32,
}

/// All settings of a [`World`](super::World).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Lock nodes, 1 to 64.
    pub nodes: usize,
    /// App servers, each with its own connections and clock, 1 or more.
    pub app_servers: usize,
    /// Workers on each app server, 1 or more.
    pub workers: usize,
    /// Locks, 1 or more.
    pub keys: usize,
    /// Whether each worker always acquires the same key, so that with as many keys as workers nobody waits for anybody.
    pub own_keys: bool,
    /// How workers acquire their locks: the workers, counted over all app servers, take these settings in turn.
    pub wants: Vec<AcquireSettings>,
    /// The time between the end of a worker's cycle and its next acquire; more than 0.
    pub think: Span,
    /// How long a worker holds a lock.
    pub hold: Draw,
    /// How long messages take.
    pub delay: Delay,
    /// The most by which timers, tasks and writes are late, 1900 µs at most: locks signal their loss 2 ms before their
    /// validity ends, which assumes that timers are not later than that.
    pub lag: Duration,
    /// The most by which the clocks of nodes and app servers are fast or slow, in millionths, 0 to 5000.
    pub drift_ppm: u32,
    /// The pause before a connection that broke or was refused is tried again.
    pub reconnect: Duration,
    /// An app server leaves the channel of a key for which nobody has waited this long.
    pub channel_idle: Duration,
    /// The most commands on a connection without an answer, 1 or more; [`WINDOW`](crate::protocol::WINDOW) in the lock
    /// engine.
    pub window: usize,
    /// How many of a thousand acquires, or their guards, are dropped early, 0 to 1000.
    pub give_up_per_mille: u32,
    /// How many of a thousand holders stop when the loss of the lock is signalled, 0 to 1000; the others go on until their
    /// time is over.
    pub heed_loss_per_mille: u32,
    /// Pauses of app servers, besides the faults; `None` for none.
    pub freezes: Option<Freezes>,
    /// Faults that come independently of each other; empty for a world without faults.
    pub faults: Vec<Faults>,
    /// How long workers acquire locks and faults occur, before [`World::finish`](super::World::finish) heals everything.
    pub busy: Duration,
}

/// The most that timers may be late, see [`Settings::lag`].
const MOST_LAG: Duration = Duration::from_micros(1900);

/// The most by which clocks may be fast or slow: two clocks are then at most 1 % apart, which is what a lock allows for.
const MOST_DRIFT: u32 = 5000;

/// Why a world can't have these settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSettings(pub(super) &'static str);

impl fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidSettings {}

impl Settings {
    /// Checks that the settings are within their ranges.
    ///
    /// # Errors
    /// If a setting is out of range; the error says which.
    pub fn check(&self) -> Result<(), InvalidSettings> {
        let positive = [self.app_servers, self.workers, self.keys, self.wants.len(), self.window];
        let spans = [self.think, self.delay.long];
        let faults = self.faults.iter().flat_map(|faults| [&faults.every, &faults.lasts]);
        let freezes = self.freezes.iter().flat_map(|freezes| [&freezes.every, &freezes.lasts]);
        let draws = [&self.hold, &self.delay.usual].into_iter().chain(freezes).chain(faults);
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
            Err(InvalidSettings("there must be 1 to 64 nodes"))
        } else if positive.contains(&0) {
            Err(InvalidSettings(
                "app servers, workers, keys, wants and the window must be 1 or more",
            ))
        } else if spans.into_iter().any(|span| span.least > span.most) || !{ draws }.all(Draw::is_ordered) {
            Err(InvalidSettings(
                "the longest of a span must not be shorter than its shortest",
            ))
        } else if !self.wants.iter().all(fits) {
            Err(InvalidSettings(
                "a TTL must be 1 ms or more, and a reply timeout more than 0 and not longer than the TTL",
            ))
        } else if self.think.least.is_zero() || self.faults.iter().any(|faults| faults.every.most().is_zero()) {
            Err(InvalidSettings(
                "the time between cycles and the time between faults must be more than 0",
            ))
        } else if self.lag > MOST_LAG || self.drift_ppm > MOST_DRIFT {
            Err(InvalidSettings(
                "timers may be 1.9 ms late at most, and clocks 0.5 % fast or slow",
            ))
        } else if per_mille.into_iter().any(|part| part > 1000) {
            Err(InvalidSettings("a part of a thousand must be 1000 at most"))
        } else {
            Ok(())
        }
    }

    /// How this worker, counted over all app servers, acquires its locks.
    pub(super) fn wants_of(&self, worker: usize) -> &AcquireSettings {
        &self.wants[worker % self.wants.len()]
    }

    /// The longest of all TTLs.
    pub(super) fn longest_ttl(&self) -> Duration {
        let ttls = self.wants.iter().map(|wants| wants.rules.ttl);
        ttls.max().unwrap_or_default()
    }

    /// The longest time that a node may take to answer.
    pub(super) fn longest_reply_timeout(&self) -> Duration {
        let timeouts = self.wants.iter().map(|wants| wants.rules.reply_timeout);
        timeouts.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_refused() {
        let fit = Settings::drawn(1);
        assert_eq!(fit.check(), Ok(()));
        let changes: [fn(&mut Settings); 7] = [
            |settings| settings.nodes = 65,
            |settings| settings.workers = 0,
            |settings| settings.delay.usual = Span::micros(2, 1).into(),
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
