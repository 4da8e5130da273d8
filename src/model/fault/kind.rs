use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumIter, IntoEnumIterator};

use super::parameters::Parameters;
use super::{Condition, How, TargetKind};
use crate::model::setting;

/// The longest delay of a lag.
const LONGEST_DELAY: Duration = Duration::from_mins(1);

/// A fault: its kind, which is a row of the table in `Fault::row`, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, EnumIter)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL on a host. The runtime of an app server is dropped, and it sends nothing more.
    Kill,
    /// SIGTERM: the node saves, if its persistence says so, and ends.
    Shutdown,
    /// SIGSTOP on a host. The thread of an app server is blocked, timers and renewals included.
    Pause,
    /// Everything that is sent to a host, and everything that it sends, arrives later.
    Lag {
        /// By how much, each way: a round trip takes twice as much longer.
        delay: Duration,
    },
}

/// Everything about a kind of fault, except how it is carried out and verified, which is up to the owner of the target.
pub(super) struct Row {
    /// Its word in scenarios and records.
    pub word: &'static str,
    /// Its verb in three forms.
    pub verbs: [&'static str; 3],
    /// One capital letter on a time axis.
    pub mark: char,
    /// The kinds of target that it can hit, each with a further consequence in words.
    pub hits: &'static [(TargetKind, &'static str)],
    /// The condition that it brings.
    pub brings: Condition,
    /// The conditions in which it would have no effect, so that they must be undone first.
    pub not_while: &'static [Condition],
}

impl Fault {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::Kill => Row {
                word: "kill",
                verbs: ["kill", "killing", "killed"],
                mark: 'K',
                hits: &[(TargetKind::Host, ""), (TargetKind::Server, "its locks keep their TTL")],
                brings: Condition::Down,
                not_while: &[],
            },
            Self::Shutdown => Row {
                word: "shutdown",
                verbs: ["shut down", "shutting down", "shut down"],
                mark: 'S',
                hits: &[(TargetKind::Host, "")],
                brings: Condition::Down,
                not_while: &[Condition::Paused],
            },
            Self::Pause => Row {
                word: "pause",
                verbs: ["pause", "pausing", "paused"],
                mark: 'P',
                hits: &[
                    (TargetKind::Host, ""),
                    (TargetKind::Server, "its timers and renewals stand still"),
                ],
                brings: Condition::Paused,
                not_while: &[Condition::Down],
            },
            Self::Lag { .. } => Row {
                word: "lag",
                verbs: ["lag", "lagging", "lagged"],
                mark: 'L',
                hits: &[(TargetKind::Host, "")],
                brings: Condition::Lagging,
                // Nobody could measure it.
                not_while: &[Condition::Down, Condition::Paused],
            },
        }
    }

    /// A fault of each kind. Their parameters mean nothing.
    pub fn kinds() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The condition that it brings, which [`super::Action::Undo`] removes.
    #[must_use]
    pub fn brings(self) -> Condition {
        self.row().brings
    }

    /// How its target comes into that condition, if there are several ways.
    #[must_use]
    pub const fn how(self) -> Option<How> {
        match self {
            Self::Kill => Some(How::Killed),
            Self::Shutdown => Some(How::ShutDown),
            Self::Pause => None,
            Self::Lag { delay } => Some(How::Delayed(delay)),
        }
    }

    /// The same fault with its parameters as `through` returns them.
    #[must_use]
    pub fn pass(self, through: &mut impl Parameters) -> Self {
        match self {
            Self::Kill | Self::Shutdown | Self::Pause => self,
            Self::Lag { delay } => Self::Lag {
                delay: through.duration("delay", delay, LONGEST_DELAY),
            },
        }
    }

    /// The keys of its parameters.
    #[must_use]
    pub fn keys(self) -> Vec<&'static str> {
        let mut keys = Keys(Vec::new());
        let _ = self.pass(&mut keys);
        keys.0
    }

    /// Its parameters in words, to stand behind its target: ` by 50 ms`.
    #[must_use]
    pub fn details(self) -> String {
        match self {
            Self::Kill | Self::Shutdown | Self::Pause => String::new(),
            Self::Lag { delay } => format!(" by {}", setting(delay)),
        }
    }

    /// Its further consequence for a target of this kind, in words; `None` if it can't hit such a target.
    #[must_use]
    pub fn meaning_for(self, kind: TargetKind) -> Option<&'static str> {
        let hits = self.row().hits.iter();
        hits.copied()
            .find_map(|(hit, meaning)| (hit == kind).then_some(meaning))
    }
}

/// The keys of the parameters that have passed.
struct Keys(Vec<&'static str>);

impl Parameters for Keys {
    fn duration(&mut self, key: &'static str, now: Duration, _: Duration) -> Duration {
        self.0.push(key);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubles every duration.
    struct Double;

    impl Parameters for Double {
        fn duration(&mut self, _: &'static str, now: Duration, _: Duration) -> Duration {
            now * 2
        }
    }

    #[test]
    fn parameters_belong_to_their_kind_of_fault() {
        let delay = Duration::from_millis(50);
        let lag = Fault::Lag { delay };
        assert_eq!((lag.keys(), Fault::Kill.keys()), (vec!["delay"], vec![]));
        assert_eq!(lag.pass(&mut Double), Fault::Lag { delay: delay * 2 });
        assert_eq!(Fault::Pause.pass(&mut Double), Fault::Pause);
        assert_eq!(lag.details() + &Fault::Kill.details(), " by 50 ms");
        let json = serde_json::to_string(&[lag, Fault::Kill]).unwrap();
        assert_eq!(serde_json::from_str::<[Fault; 2]>(&json).unwrap(), [lag, Fault::Kill]);
        assert!(json.ends_with(r#","kill"]"#), "{json}");
    }
}
