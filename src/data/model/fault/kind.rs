use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr, VariantArray};

use super::condition::Condition;
use super::how::{Direction, How, Way};
use super::skew::Skew;
use super::target::TargetKind;
use crate::model::in_us;

/// The shortest lag, each way. A round trip to a node on this machine takes some .2 ms, so that nobody could tell a shorter lag from none,
/// and neither verify it nor that it was undone.
pub const SHORTEST_LAG: Duration = Duration::from_micros(250);
/// The delays that a lag can have.
const LAGS: RangeInclusive<Duration> = SHORTEST_LAG..=Duration::from_mins(1);

/// A fault: its kind, which is a row of the table in `Fault::row`, with its parameters.
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
    /// Nothing that is sent arrives, and nobody is told.
    Cut {
        /// On which ways.
        direction: Direction,
    },
    /// The wall clock of a host is wrong.
    Clock(Skew),
    /// The replicated node of a host becomes the master, while the old one may still be there.
    Failover {
        /// Who does it.
        by: Way,
    },
}

/// Everything about a kind of fault, except how it is carried out and verified, which is up to the owner of the target.
pub(super) struct Row {
    /// Its verb in three forms.
    pub verbs: [&'static str; 3],
    /// One capital letter on a time axis.
    pub mark: char,
    /// The kinds of target that it can hit, each with a further consequence in words.
    pub hits: &'static [(TargetKind, &'static str)],
    /// The condition that it brings, if its target is in another one afterwards.
    pub brings: Option<Condition>,
    /// The conditions in which it would have no effect, so that they must be undone first.
    pub not_while: &'static [Condition],
}

impl Fault {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::Kill => Row {
                verbs: ["kill", "killing", "killed"],
                mark: 'K',
                hits: &[
                    (TargetKind::Host, ""),
                    (TargetKind::Server, "its locks keep their TTL"),
                    (TargetKind::Client, "nobody renews its locks, and the work goes on"),
                ],
                brings: Some(Condition::Down),
                not_while: &[],
            },
            Self::Shutdown => Row {
                verbs: ["shut down", "shutting down", "shut down"],
                mark: 'S',
                hits: &[(TargetKind::Host, "")],
                brings: Some(Condition::Down),
                not_while: &[Condition::Paused],
            },
            Self::PowerLoss => Row {
                verbs: ["power off", "powering off", "powered off"],
                mark: 'W',
                hits: &[(TargetKind::Host, "")],
                brings: Some(Condition::Down),
                not_while: &[],
            },
            Self::Pause => Row {
                verbs: ["pause", "pausing", "paused"],
                mark: 'P',
                hits: &[
                    (TargetKind::Host, ""),
                    (TargetKind::Server, "its timers and renewals stand still"),
                    (TargetKind::Client, "nobody renews its locks, and the work goes on"),
                ],
                brings: Some(Condition::Paused),
                not_while: &[Condition::Down],
            },
            Self::Lag { .. } => Row {
                verbs: ["lag", "lagging", "lagged"],
                mark: 'L',
                hits: &[(TargetKind::Host, ""), (TargetKind::Link, "")],
                brings: Some(Condition::Lagging),
                // Nobody could measure it.
                not_while: &[Condition::Down, Condition::Paused, Condition::Cut],
            },
            Self::Cut { .. } => Row {
                verbs: ["cut", "cutting", "cut"],
                mark: 'C',
                hits: &[(TargetKind::Host, ""), (TargetKind::Link, "")],
                brings: Some(Condition::Cut),
                not_while: &[Condition::Down],
            },
            Self::Clock(_) => Row {
                verbs: ["skew", "skewing", "skewed"],
                mark: 'T',
                hits: &[(TargetKind::Host, "")],
                brings: Some(Condition::Skewed),
                // Nobody could ask it for the time.
                not_while: &[Condition::Down, Condition::Paused, Condition::Cut],
            },
            Self::Failover { .. } => Row {
                verbs: ["fail over to", "failing over to", "failed over to"],
                mark: 'M',
                hits: &[(TargetKind::Host, "")],
                // That it has the master is no damage.
                brings: None,
                not_while: &[Condition::Down, Condition::Paused],
            },
        }
    }

    /// A fault of each kind. Their parameters mean nothing.
    pub fn kinds() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The condition that it brings, which [`super::Action::Undo`] removes; `None` if it leaves nothing to undo.
    pub fn brings(self) -> Option<Condition> {
        self.row().brings
    }

    /// Whether only one target makes sense.
    pub const fn is_for_one(self) -> bool {
        matches!(self, Self::Failover { .. })
    }

    /// How its target comes into that condition, if there are several ways.
    pub const fn how(self) -> Option<How> {
        match self {
            Self::Kill => Some(How::Killed),
            Self::Shutdown => Some(How::ShutDown),
            Self::PowerLoss => Some(How::PoweredOff),
            Self::Pause | Self::Failover { .. } => None,
            Self::Lag { delay, direction } => Some(How::Delayed(delay, direction)),
            Self::Cut { direction } => Some(How::Silenced(direction)),
            Self::Clock(skew) => Some(How::Clock(skew)),
        }
    }

    /// This fault with its parameters as `through` returns them.
    #[must_use]
    pub fn map_parameters(self, through: &mut impl Parameters) -> Self {
        match self {
            Self::Kill | Self::Shutdown | Self::PowerLoss | Self::Pause => self,
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

/// Something that the parameters of a fault pass through, each with its key: it reads them, writes them, or lists them.
pub trait Parameters {
    /// A duration within `range`. `now` is its present value, which means nothing while a fault is being read.
    fn duration(&mut self, key: &'static str, now: Duration, range: RangeInclusive<Duration>) -> Duration;

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
