//! Colour, where it is wanted. It only ever repeats what a mark (✔ ✖ ?) or a word says.

use std::borrow::Cow;

/// Whether text for people carries colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Off,
    /// ANSI escape sequences, the sixteen colours of the terminal's own palette.
    On,
}

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Of no interest: a figure that an arm does not have.
    Faint,
    /// A promise that was kept.
    Good,
    /// Proven damage, a broken expectation.
    Bad,
    /// It could not show, or it should be looked at.
    Doubt,
}

impl Paint {
    /// The text as it is meant.
    pub(super) fn apply(self, tone: Tone, text: &str) -> Cow<'_, str> {
        let code = match tone {
            Tone::Plain => return Cow::Borrowed(text),
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Doubt => "33",
        };
        match self {
            Self::Off => Cow::Borrowed(text),
            Self::On => Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m")),
        }
    }
}
