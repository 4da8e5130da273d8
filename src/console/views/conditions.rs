//! The conditions of a host or app server, as a symbol and a few words.

use std::time::Duration;

use crate::console::text;
use lockstorm_data::model::{Conditions, printable};

/// The symbol of the most important condition, and all conditions with their ages: `DOWN 6.2 s`. `None` for a target that
/// is up.
pub(super) fn symbol_and_words(conditions: &Conditions<Duration>) -> Option<(&'static str, String)> {
    let first = conditions.first()?;
    let words: Vec<String> = conditions
        .iter()
        .map(|ongoing| {
            format!(
                "{} {}",
                ongoing.condition.word().to_uppercase(),
                text::age(ongoing.since)
            )
        })
        .collect();
    Some((first.condition.symbol(), words.join(", ")))
}

/// How the target came into the condition that matters most: `(killed)`.
pub(super) fn why(conditions: &Conditions<Duration>) -> Option<String> {
    let how = conditions.first()?.how.as_ref()?;
    Some(format!("({})", printable(&how.to_string())))
}
