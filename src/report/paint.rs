//! Colour, where it is wanted. It only repeats what a mark (✔ ✖ ?) or a word says.

use std::borrow::Cow;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Off,
    /// ANSI escape sequences, with the sixteen colours of the terminal's own palette.
    On,
}

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Unimportant: a figure that an arm does not have.
    Faint,
    /// An expectation that held.
    Good,
    /// Proven damage, or an expectation that failed.
    Bad,
    /// Something that could not show, or should be looked at.
    Doubt,
}

impl Paint {
    /// The text, in the colour of its meaning.
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
