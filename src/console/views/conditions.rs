//! The conditions of a host or app server, as a symbol and a few words.

use std::time::Duration;

use ratatui::style::Style;

use crate::console::text;
use crate::console::theme::Theme;
use lockstorm_data::model::{Condition, Conditions, How, printable};
use lockstorm_run::HostView;

/// The symbol of the most important condition, all conditions with their ages, and their style: `DOWN 6.2 s`. `up` is the word for
/// a target that is up.
pub(super) fn state(conditions: &Conditions<Duration>, up: &str, theme: &Theme) -> (&'static str, String, Style) {
    let Some(first) = conditions.first() else {
        return ("●", up.to_owned(), theme.good);
    };
    let words = conditions.iter().map(|ongoing| {
        let how = ongoing.how.as_ref().map(How::to_string);
        // What it refuses says more: `OOM`.
        let cause = how.filter(|_| ongoing.condition == Condition::Degraded);
        let cause = cause.as_ref().and_then(|how| how.split(' ').next());
        let word = cause.unwrap_or_else(|| ongoing.condition.word()).to_uppercase();
        format!("{word} {}", text::age(ongoing.since))
    });
    let words: Vec<String> = words.collect();
    (first.condition.symbol(), words.join(", "), theme.warn)
}

/// The same of a host. If not all of its nodes are concerned it is up, and the words name those: `Sentinel DOWN 6.2 s`.
pub(super) fn of_host(host: &HostView, up: &str, theme: &Theme) -> (&'static str, String, Style) {
    let (symbol, words, style) = state(&host.conditions, up, theme);
    if host.affected.is_empty() {
        return (symbol, words, style);
    }
    let nodes: Vec<&str> = host.affected.iter().map(|role| role.noun()).collect();
    ("●", format!("{} {words}", nodes.join(", ")), style)
}

/// How the target came into the condition that matters most: `(killed)`.
pub(super) fn why(conditions: &Conditions<Duration>) -> Option<String> {
    let how = conditions.first()?.how.as_ref()?;
    Some(format!("({})", printable(&how.to_string())))
}
