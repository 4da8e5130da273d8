//! Colour, where it is wanted. It only repeats what a mark (✔ ✖ ?) or a word says.

use std::borrow::Cow;

use ratatui::style::Color;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Off,
    /// ANSI escape sequences, with the sixteen colours of the terminal's own palette.
    On,
}

/// The colours of curves, with their codes. Red and green have a meaning of their own.
pub(super) const CURVES: [(Color, &str); 4] = [
    (Color::Cyan, "36"),
    (Color::Magenta, "35"),
    (Color::Yellow, "33"),
    (Color::Blue, "34"),
];

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

    /// The text in one of the colours of curves, [`CURVES`]; plain in any other.
    pub(super) fn colored(self, color: Color, text: &str) -> Cow<'_, str> {
        match (self, CURVES.iter().find(|(own, _)| *own == color)) {
            (Self::On, Some((_, code))) => Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m")),
            _ => Cow::Owned(text.to_owned()),
        }
    }
}
