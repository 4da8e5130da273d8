use strum::VariantArray;

use super::TargetKind;

/// What a fault makes of its target until it is undone, the one that matters most first. A target can be in several at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray)]
pub enum Condition {
    /// It does not run: the processes of a host have ended, the runtime of an app server is gone.
    Down,
    /// It is stopped in the middle of what it does.
    Paused,
}

/// All that is to be known of a condition.
pub(super) struct Row {
    /// The word for it behind "is".
    pub word: &'static str,
    /// One character before it.
    pub symbol: &'static str,
    /// The word for its undo in scenarios and records.
    pub undo: &'static str,
    /// Doing that, its being under way, and having done it.
    pub undo_verbs: [&'static str; 3],
    /// What it can be undone on.
    pub undone_on: &'static [TargetKind],
    /// The conditions that it puts an end to.
    pub ends: &'static [Condition],
    /// Whether the kernel reports it of a host's processes; otherwise the lab remembers what it has brought about.
    pub reported: bool,
    /// Whether its target still answers.
    pub answers: bool,
    /// Whether what the target had in memory is gone.
    pub forgets: bool,
}

impl Condition {
    pub(super) const fn row(self) -> Row {
        match self {
            Self::Down => Row {
                word: "down",
                symbol: "✖",
                undo: "restart",
                undo_verbs: ["restart", "restarting", "restarted"],
                // The workers of an app server that was killed are gone for good.
                undone_on: &[TargetKind::Host],
                ends: &[Self::Paused],
                reported: true,
                answers: false,
                forgets: true,
            },
            Self::Paused => Row {
                word: "paused",
                symbol: "‖",
                undo: "resume",
                undo_verbs: ["resume", "resuming", "resumed"],
                undone_on: &[TargetKind::Host, TargetKind::Server],
                ends: &[],
                reported: true,
                answers: false,
                forgets: false,
            },
        }
    }

    /// The word for it behind "is": `down`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// One character that stands for it.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        self.row().symbol
    }

    /// Whether the kernel reports it of a host's processes, whoever brought it about.
    #[must_use]
    pub const fn is_reported(self) -> bool {
        self.row().reported
    }

    /// Whether a target in this condition still answers.
    #[must_use]
    pub const fn answers(self) -> bool {
        self.row().answers
    }

    /// Whether what the target had in memory is gone once this is undone.
    #[must_use]
    pub const fn forgets(self) -> bool {
        self.row().forgets
    }

    /// Whether it can be undone on a target of this kind.
    #[must_use]
    pub fn is_undone_on(self, kind: TargetKind) -> bool {
        self.row().undone_on.contains(&kind)
    }
}
