//! The conditions of a host or app server, as a symbol and a few words.

use std::time::Duration;

use ratatui::style::Style;

use crate::console::text;
use crate::console::theme::Theme;
use lockstorm_data::model::{Conditions, printable};

/// The symbol of the most important condition, all conditions with their ages, and their style: `DOWN 6.2 s`. `up` is the word for
/// a target that is up.
pub(super) fn state(conditions: &Conditions<Duration>, up: &str, theme: &Theme) -> (&'static str, String, Style) {
    let Some(first) = conditions.first() else {
        return ("●", up.to_owned(), theme.good);
    };
    let words = conditions.iter().map(|ongoing| {
        let word = ongoing.condition.word().to_uppercase();
        format!("{word} {}", text::age(ongoing.since))
    });
    let words: Vec<String> = words.collect();
    (first.condition.symbol(), words.join(", "), theme.warn)
}

/// How the target came into the condition that matters most: `(killed)`.
pub(super) fn why(conditions: &Conditions<Duration>) -> Option<String> {
    let how = conditions.first()?.how.as_ref()?;
    Some(format!("({})", printable(&how.to_string())))
}
