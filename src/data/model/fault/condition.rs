use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::lack::Lack;
use super::target::TargetKind;

/// What a fault does to its target until it is undone, the most important first. A target can have several at once. It is
/// written as the word for its undoing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, VariantArray,
)]
pub enum Condition {
    /// It is not running: the processes of a host have ended, or the runtime of an app server is gone.
    #[serde(rename = "restart")]
    Down,
    /// It is stopped in the middle of its work.
    #[serde(rename = "resume")]
    Paused,
    /// What is sent over it does not arrive.
    #[serde(rename = "uncut")]
    Cut,
    /// What is sent to it, and what it sends, arrives later than it should.
    #[serde(rename = "unlag")]
    Lagging,
    /// Its wall clock is wrong.
    #[serde(rename = "correct")]
    Skewed,
    /// It answers, and refuses a part of what it is asked for.
    #[serde(rename = "repair")]
    Degraded,
}

/// Everything about a condition.
pub(super) struct Row {
    /// Its word after "is".
    pub word: &'static str,
    /// A symbol of one character.
    pub symbol: &'static str,
    /// The verb of its undoing in three forms; the first is its word in scenarios and records.
    pub undo: [&'static str; 3],
    /// The kinds of target on which it can be undone.
    pub undone_on: &'static [TargetKind],
    /// What its undoing needs of a lab, on targets of this kind.
    pub undo_needs: &'static [(TargetKind, Lack)],
    /// The conditions that it ends.
    pub ends: &'static [Condition],
}

impl Condition {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::Down => Row {
                word: "down",
                symbol: "✖",
                undo: ["restart", "restarting", "restarted"],
                // The workers of an app server that was killed are gone for good.
                undone_on: &[TargetKind::Host, TargetKind::Client],
                undo_needs: &[(TargetKind::Host, Lack::OwnHosts)],
                // What is started anew has its own settings, and accepts connections.
                ends: &[Self::Paused, Self::Degraded],
            },
            Self::Paused => Row {
                word: "paused",
                symbol: "‖",
                undo: ["resume", "resuming", "resumed"],
                undone_on: &[TargetKind::Host, TargetKind::Server, TargetKind::Client],
                undo_needs: &[(TargetKind::Host, Lack::OwnHosts)],
                ends: &[],
            },
            Self::Cut => Row {
                word: "cut",
                symbol: "╳",
                undo: ["uncut", "uncutting", "uncut"],
                undone_on: &[TargetKind::Host, TargetKind::Link, TargetKind::Route],
                undo_needs: &[(TargetKind::Host, Lack::OwnHosts), (TargetKind::Link, Lack::Replicas)],
                ends: &[],
            },
            Self::Lagging => Row {
                word: "lagging",
                symbol: "≈",
                undo: ["unlag", "unlagging", "unlagged"],
                undone_on: &[TargetKind::Host, TargetKind::Link, TargetKind::Route],
                undo_needs: &[(TargetKind::Link, Lack::Replicas)],
                ends: &[],
            },
            Self::Degraded => Row {
                word: "degraded",
                symbol: "◐",
                undo: ["repair", "repairing", "repaired"],
                undone_on: &[TargetKind::Host],
                undo_needs: &[(TargetKind::Host, Lack::OwnHosts)],
                ends: &[],
            },
            Self::Skewed => Row {
                word: "skewed",
                symbol: "◷",
                undo: ["correct", "correcting", "corrected"],
                undone_on: &[TargetKind::Host, TargetKind::Client],
                undo_needs: &[
                    (TargetKind::Host, Lack::OwnHosts),
                    (TargetKind::Host, Lack::Preload),
                    (TargetKind::Client, Lack::Preload),
                ],
                ends: &[],
            },
        }
    }

    /// Its word after "is": `down`.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Its symbol of one character.
    pub const fn symbol(self) -> &'static str {
        self.row().symbol
    }

    /// Whether only the lab knows of it that brought it about: by its proxy, by the engine of its containers, by a clock, or by settings. The others
    /// the kernel reports for a host's processes, no matter who caused them.
    pub const fn is_imposed(self) -> bool {
        matches!(self, Self::Cut | Self::Lagging | Self::Skewed | Self::Degraded)
    }

    /// Whether a target in this condition still answers.
    pub const fn answers(self) -> bool {
        matches!(self, Self::Lagging | Self::Skewed | Self::Degraded)
    }

    /// Whether a target has lost what it had in memory once this is undone.
    pub const fn forgets(self) -> bool {
        matches!(self, Self::Down)
    }

    /// Whether it can be undone on a target of this kind.
    pub fn is_undone_on(self, kind: TargetKind) -> bool {
        self.row().undone_on.contains(&kind)
    }
}
