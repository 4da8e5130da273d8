use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::{Condition, How, TargetKind};

/// The kinds of fault, each a row of the table in `Fault::row`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL on a host. The runtime of an app server is dropped, and it sends nothing more.
    Kill,
    /// SIGTERM: the node saves, if its persistence says so, and ends.
    Shutdown,
    /// SIGSTOP on a host. The thread of an app server is blocked, timers and renewals included.
    Pause,
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
    /// How its target came into that condition, if there are several ways.
    pub how: Option<How>,
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
                how: Some(How::Killed),
                not_while: &[],
            },
            Self::Shutdown => Row {
                word: "shutdown",
                verbs: ["shut down", "shutting down", "shut down"],
                mark: 'S',
                hits: &[(TargetKind::Host, "")],
                brings: Condition::Down,
                how: Some(How::ShutDown),
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
                how: None,
                not_while: &[Condition::Down],
            },
        }
    }

    /// The condition that it brings, which [`super::Action::Undo`] removes.
    #[must_use]
    pub fn brings(self) -> Condition {
        self.row().brings
    }

    /// How its target comes into that condition, if there are several ways.
    #[must_use]
    pub fn how(self) -> Option<How> {
        self.row().how
    }

    /// Its further consequence for a target of this kind, in words; `None` if it can't hit such a target.
    #[must_use]
    pub fn meaning_for(self, kind: TargetKind) -> Option<&'static str> {
        let hits = self.row().hits.iter();
        hits.copied()
            .find_map(|(hit, meaning)| (hit == kind).then_some(meaning))
    }
}
