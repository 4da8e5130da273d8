use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr, VariantArray};

use super::condition::Condition;
use super::lack::Lack;
use super::rows::{self, Row};
use super::skew::Skew;
use super::target::TargetKind;
use super::way::{Direction, Way};
use crate::model::in_us;
use crate::model::setting::setting;

/// The shortest lag, each way. A round trip to a node on this machine takes some .2 ms, so that nobody could tell a shorter lag from none,
/// and neither verify it nor that it was undone.
pub const SHORTEST_LAG: Duration = Duration::from_micros(250);
/// The delays that a lag can have.
const LAGS: RangeInclusive<Duration> = SHORTEST_LAG..=Duration::from_mins(1);
/// How long a script can run. A shorter time can't be told from a slow answer.
const STALLS: RangeInclusive<Duration> = Duration::from_millis(20)..=Duration::from_mins(1);
/// Of how many keys one can be forgotten.
const SHARES: RangeInclusive<u64> = 1..=1_000_000;
/// How many bytes a second a slow link can carry: the slowest needs a second for a lock and its reply, and the fastest is slower than loopback.
const SPEEDS: RangeInclusive<u64> = 200..=10_000_000;

/// A fault: its kind, which is a row in `rows.rs`, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, EnumIter, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Fault {
    /// SIGKILL on a host. The runtime of an app server is dropped, and it sends nothing more.
    Kill,
    /// SIGTERM: the node saves, if its persistence says so, and ends.
    Shutdown,
    /// SIGKILL, and what the nodes had written and not synced to disk is lost.
    #[serde(rename = "power-loss")]
    #[strum(serialize = "power-loss")]
    PowerLoss,
    /// SIGKILL, and the nodes find none of their files when they are started again.
    #[serde(rename = "disk-loss")]
    #[strum(serialize = "disk-loss")]
    DiskLoss,
    /// SIGSTOP on a host. The thread of an app server is blocked, timers and renewals included.
    Pause,
    /// Everything that is sent arrives later.
    Lag {
        /// By how much, each way: a round trip takes twice as much longer.
        #[serde(rename = "delay_us", with = "in_us")]
        #[schemars(with = "u64")]
        delay: Duration,
        /// On which ways.
        #[serde(default)]
        direction: Direction,
    },
    /// What is sent arrives no faster than this.
    #[serde(rename = "slow-link")]
    #[strum(serialize = "slow-link")]
    SlowLink {
        /// How many bytes a second, each way, for all connections together.
        bytes_per_second: u64,
    },
    /// Nothing that is sent arrives, and nobody is told.
    Cut {
        /// On which ways.
        direction: Direction,
    },
    /// New connections are refused; those that are open go on working.
    Refuse,
    /// All connections of clients are closed.
    Reset,
    /// A long script runs, and nothing else is answered.
    Stall {
        /// For so long at least.
        #[serde(rename = "length_us", with = "in_us")]
        #[schemars(with = "u64")]
        length: Duration,
    },
    /// Keys are gone, without a restart.
    Forget {
        /// One in so many; 1: all.
        every: u64,
    },
    /// A cache beside the locks fills the memory, and keys are evicted.
    Evict,
    /// There is no memory left, and writes are refused.
    Full,
    /// Snapshots can't be saved, and writes are refused.
    Misconf,
    /// The wall clock of a host is wrong.
    Clock(Skew),
    /// The replicated node of a host becomes the master, while the old one may still be there.
    Failover {
        /// Who does it.
        by: Way,
    },
}

impl Fault {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::Kill => rows::KILL,
            Self::Shutdown => rows::SHUTDOWN,
            Self::PowerLoss => rows::POWER_LOSS,
            Self::DiskLoss => rows::DISK_LOSS,
            Self::Pause => rows::PAUSE,
            Self::Lag { .. } => rows::LAG,
            Self::Cut { .. } => rows::CUT,
            Self::SlowLink { .. } => rows::SLOW_LINK,
            Self::Refuse => rows::REFUSE,
            Self::Reset => rows::RESET,
            Self::Stall { .. } => rows::STALL,
            Self::Forget { .. } => rows::FORGET,
            Self::Evict => rows::EVICT,
            Self::Full => rows::FULL,
            Self::Misconf => rows::MISCONF,
            Self::Clock(_) => rows::CLOCK,
            Self::Failover { .. } => rows::FAILOVER,
        }
    }

    /// Those that a user may want to try on any target, in this order. The lag is one that shows on every chart.
    pub const OFFERED: [Self; 17] = [
        Self::Shutdown,
        Self::PowerLoss,
        Self::DiskLoss,
        Self::Failover { by: Way::Hand },
        Self::Lag {
            delay: Duration::from_millis(50),
            direction: Direction::Both,
        },
        Self::Cut {
            direction: Direction::Both,
        },
        Self::SlowLink {
            bytes_per_second: 10_000,
        },
        Self::Refuse,
        Self::Reset,
        Self::Stall {
            length: Duration::from_secs(2),
        },
        Self::Forget { every: 1 },
        Self::Evict,
        Self::Full,
        Self::Misconf,
        Self::Clock(Skew {
            ahead_ms: 60_000,
            rate_ppm: Skew::TRUE_RATE,
        }),
        Self::Clock(Skew {
            ahead_ms: -60_000,
            rate_ppm: Skew::TRUE_RATE,
        }),
        Self::Clock(Skew {
            ahead_ms: 0,
            rate_ppm: 0,
        }),
    ];

    /// A fault of each kind. Their parameters mean nothing.
    pub fn kinds() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The condition that it brings, which [`super::Action::Undo`] removes; `None` if it leaves nothing to undo.
    pub fn brings(self) -> Option<Condition> {
        self.row().brings
    }

    /// After which time it is over by itself; `None` if it lasts until it is undone, or leaves another order behind.
    pub const fn over_after(self) -> Option<Duration> {
        match self {
            Self::Stall { length } => Some(length),
            Self::Forget { .. } | Self::Evict | Self::Reset => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// Whether only one target makes sense.
    pub const fn is_for_one(self) -> bool {
        matches!(self, Self::Failover { .. })
    }

    /// How its target comes into that condition, in words; empty if there is one way only.
    pub(super) fn way(self) -> String {
        match self {
            Self::Lag { delay, direction } => match direction {
                Direction::Both => format!("{} each way", setting(delay)),
                _ => format!("{} {direction}", setting(delay)),
            },
            Self::SlowLink { bytes_per_second } => speed(bytes_per_second),
            Self::Cut { direction } => direction.to_string(),
            Self::Clock(skew) => skew.to_string(),
            _ => self.row().by.to_owned(),
        }
    }

    /// Its parameters in words, to stand behind its target: ` by 50 ms`. `course` says a direction in words.
    pub(super) fn details(self, course: impl Fn(Direction) -> String) -> String {
        match self {
            Self::Lag { delay, direction } => format!(" by {}{}", setting(delay), course(direction)),
            Self::SlowLink { bytes_per_second } => format!(" to {}", speed(bytes_per_second)),
            Self::Cut { direction } => course(direction),
            Self::Refuse => " to new connections".to_owned(),
            Self::Stall { length } => format!(" for {}", setting(length)),
            Self::Forget { every: 1 } => " (all keys)".to_owned(),
            Self::Forget { every } => format!(" (one key in {every})"),
            Self::Clock(skew) => format!(" ({skew})"),
            _ => String::new(),
        }
    }

    /// It as something that happens: `dies`; `None` if that is said like what was done.
    pub fn happens(self, to_one: bool) -> Option<&'static str> {
        let [one, many] = self.row().happens;
        let said = if to_one { one } else { many };
        (!said.is_empty()).then_some(said)
    }

    /// It as something that has happened to a host: `died`; `None` if that is said like what was done.
    pub fn happened(self) -> Option<&'static str> {
        let said = self.row().happened;
        (!said.is_empty()).then_some(said)
    }

    /// To whom it can be done in a kept lab, with its parameters as options, and what that lab needs.
    pub fn examples(self) -> impl Iterator<Item = (&'static str, Vec<Lack>)> {
        let Row { examples, needs, .. } = self.row();
        examples.iter().map(move |(kind, example)| {
            let on_it = needs.iter().filter(move |(on, _)| on == kind);
            (*example, on_it.map(|(_, lack)| *lack).collect())
        })
    }

    /// This fault with its parameters as `through` returns them.
    #[must_use]
    pub fn map_parameters(self, through: &mut impl Parameters) -> Self {
        match self {
            Self::SlowLink { bytes_per_second } => Self::SlowLink {
                bytes_per_second: through.number("speed", bytes_per_second, SPEEDS, None),
            },
            Self::Stall { length } => Self::Stall {
                length: through.duration("length", length, STALLS),
            },
            Self::Forget { every } => Self::Forget {
                every: through.number("every", every, SHARES, Some(1)),
            },
            Self::Lag { delay, direction } => Self::Lag {
                delay: through.duration("delay", delay, LAGS),
                direction: through.word("direction", direction),
            },
            Self::Cut { direction } => Self::Cut {
                direction: through.word("direction", direction),
            },
            Self::Clock(Skew { ahead_ms, rate_ppm }) => Self::Clock(Skew {
                ahead_ms: through.shift("ahead", ahead_ms),
                rate_ppm: through.rate("rate", rate_ppm),
            }),
            Self::Failover { by } => Self::Failover {
                by: through.word("by", by),
            },
            Self::Kill
            | Self::Shutdown
            | Self::PowerLoss
            | Self::DiskLoss
            | Self::Pause
            | Self::Refuse
            | Self::Reset
            | Self::Evict
            | Self::Full
            | Self::Misconf => self,
        }
    }

    /// What it needs that its parameters don't say, to stand after its word.
    pub fn lacks(self) -> Option<&'static str> {
        let is_nothing = self == Self::Clock(Skew::NONE);
        is_nothing.then_some("needs how far it jumps (ahead), how fast it runs (rate), or both")
    }

    /// The keys of its parameters.
    pub fn keys(self) -> Vec<&'static str> {
        let mut keys = Keys(Vec::new());
        let _ = self.map_parameters(&mut keys);
        keys.0
    }

    /// Its further consequence for a target of this kind, in words; `None` if it can't hit such a target.
    pub fn meaning_for(self, kind: TargetKind) -> Option<&'static str> {
        let hits = self.row().hits.iter();
        hits.copied()
            .find_map(|(hit, meaning)| (hit == kind).then_some(meaning))
    }
}

/// `10 kB/s`.
fn speed(bytes_per_second: u64) -> String {
    match bytes_per_second {
        1_000.. if bytes_per_second.is_multiple_of(1_000) => format!("{} kB/s", bytes_per_second / 1_000),
        _ => format!("{bytes_per_second} B/s"),
    }
}

/// Something that the parameters of a fault pass through, each with its key: it reads them, writes them, or lists them.
pub trait Parameters {
    /// A duration within `range`. `now` is its present value, which means nothing while a fault is being read.
    fn duration(&mut self, key: &'static str, now: Duration, range: RangeInclusive<Duration>) -> Duration;

    /// A number within `range`, which may be `left_out`. `now` means as much as for a duration.
    fn number(&mut self, key: &'static str, now: u64, range: RangeInclusive<u64>, left_out: Option<u64>) -> u64;

    /// Milliseconds to add to a clock, less than a day; 0 if it is left out.
    fn shift(&mut self, key: &'static str, now: i64) -> i64;

    /// How fast a clock runs, in parts per million of the true rate; 1,000,000 if it is left out.
    fn rate(&mut self, key: &'static str, now: u32) -> u32;

    /// A variant of an enum. `now` means as much as for a duration.
    fn word<T: Copy + Serialize + VariantArray>(&mut self, key: &'static str, now: T) -> T;
}

/// The keys of the parameters that have passed.
struct Keys(Vec<&'static str>);

impl Parameters for Keys {
    fn duration(&mut self, key: &'static str, now: Duration, _: RangeInclusive<Duration>) -> Duration {
        self.0.push(key);
        now
    }

    fn number(&mut self, key: &'static str, now: u64, _: RangeInclusive<u64>, _: Option<u64>) -> u64 {
        self.0.push(key);
        now
    }

    fn shift(&mut self, key: &'static str, now: i64) -> i64 {
        self.0.push(key);
        now
    }

    fn rate(&mut self, key: &'static str, now: u32) -> u32 {
        self.0.push(key);
        now
    }

    fn word<T>(&mut self, key: &'static str, now: T) -> T {
        self.0.push(key);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::Action;
    use super::super::target::{Link, Target};
    use super::*;
    use crate::model::id::HostId;

    /// Doubles every duration, and takes the last of all words.
    struct Double;

    impl Parameters for Double {
        fn duration(&mut self, _: &'static str, now: Duration, _: RangeInclusive<Duration>) -> Duration {
            now * 2
        }

        fn number(&mut self, _: &'static str, now: u64, _: RangeInclusive<u64>, _: Option<u64>) -> u64 {
            now * 2
        }

        fn shift(&mut self, _: &'static str, now: i64) -> i64 {
            now * 2
        }

        fn rate(&mut self, _: &'static str, now: u32) -> u32 {
            now * 2
        }

        fn word<T: Copy + VariantArray>(&mut self, _: &'static str, now: T) -> T {
            T::VARIANTS.last().copied().unwrap_or(now)
        }
    }

    #[test]
    fn parameters_belong_to_their_kind_of_fault() {
        let delay = Duration::from_millis(50);
        let lag = Fault::Lag {
            delay,
            direction: Direction::Both,
        };
        let cut = Fault::Cut {
            direction: Direction::There,
        };
        assert_eq!((lag.keys(), Fault::Kill.keys()), (vec!["delay", "direction"], vec![]));
        let twice = Fault::Lag {
            delay: delay * 2,
            direction: Direction::Back,
        };
        assert_eq!(lag.map_parameters(&mut Double), twice);
        assert_eq!(
            cut.map_parameters(&mut Double),
            Fault::Cut {
                direction: Direction::Back
            }
        );
        assert_eq!(Fault::Pause.map_parameters(&mut Double), Fault::Pause);
        let failover = |by| Fault::Failover { by };
        assert_eq!(failover(Way::Sentinel).keys(), ["by"]);
        assert_eq!(failover(Way::Sentinel).map_parameters(&mut Double), failover(Way::Hand));
        assert_eq!(Action::from(lag).on("host 1"), "lag host 1 by 50 ms");
        assert_eq!(Action::from(Fault::Kill).on("host 1"), "kill host 1");
        let json = serde_json::to_string(&[lag, cut, Fault::Kill]).unwrap();
        assert_eq!(
            serde_json::from_str::<[Fault; 3]>(&json).unwrap(),
            [lag, cut, Fault::Kill]
        );
        assert!(json.ends_with(r#","kill"]"#), "{json}");
        let both_ways = r#"{"lag":{"delay_us":50000}}"#;
        assert_eq!(serde_json::from_str::<Fault>(both_ways).unwrap(), lag);
    }

    #[test]
    fn every_kind_is_offered_has_a_mark_of_its_own_and_says_by_what_a_host_is_degraded() {
        let mut marks = std::collections::BTreeSet::from(['B', 'R']);
        for fault in Fault::kinds() {
            assert!(marks.insert(fault.row().mark), "{fault:?}: another one has its mark");
            let is_kind = |other: &Fault| std::mem::discriminant(other) == std::mem::discriminant(&fault);
            // These have keys.
            let has_key = matches!(fault, Fault::Kill | Fault::Pause);
            assert_eq!(Fault::OFFERED.iter().any(is_kind), !has_key, "{fault:?} in OFFERED");
            // What undoes it is found by that, and the console shows its first word.
            let is_degraded = fault.brings() == Some(Condition::Degraded);
            assert!(!is_degraded || !fault.way().is_empty(), "{fault:?}: `by` in its row");
        }
    }

    #[test]
    fn details_say_where_a_fault_acts() {
        let between = Target::Link(Link::Between(HostId(1), HostId(3)));
        let replication = Target::Link(Link::Replication);
        let delay = Duration::from_millis(500);
        let lag = |direction| Action::Fault(Fault::Lag { delay, direction });
        let cut = |direction| Action::Fault(Fault::Cut { direction });
        for (action, target, on, done) in [
            (
                cut(Direction::Both),
                between,
                "cut the link of hosts 1 and 3",
                "the link of hosts 1 and 3 cut",
            ),
            (
                cut(Direction::Back),
                between,
                "cut the link of hosts 1 and 3 on the way back",
                "the link of hosts 1 and 3 cut from host 3 to host 1",
            ),
            (
                lag(Direction::There),
                replication,
                "lag replication by 500 ms on the way there",
                "replication lagged by 500 ms from the master to its replicas",
            ),
            (
                cut(Direction::There),
                Target::Link(Link::Sentinels),
                "cut the network of the Sentinels on the way there",
                "the network of the Sentinels cut from the Sentinels",
            ),
            (
                lag(Direction::Back),
                Target::Host(HostId(2)),
                "lag host 2 by 500 ms on the way back",
                "host 2 lagged by 500 ms on the way from it",
            ),
        ] {
            assert_eq!(
                (action.on(target).as_str(), action.done_to(target).as_str()),
                (on, done)
            );
        }
    }
}
