//! What words mean, from the tables that name them.

use lockstorm_data::metrics::Metric;
use lockstorm_data::scenario::{builtin, keys};
use strum::VariantArray;

/// A table with a row for each word, or for several with commas between them.
const GLOSSARY: &str = include_str!("../docs/glossary.md");

/// All words, sorted.
pub fn words() -> Vec<&'static str> {
    let mut all: Vec<_> = rows().map(|(words, _)| words[0]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What a word of the glossary means, in a line.
pub fn meaning(word: &str) -> Option<&'static str> {
    table().find_map(|(words, meaning)| (words == word).then_some(meaning))
}

/// The rows of the glossary. The first one is the head.
fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = GLOSSARY.lines();
    lines.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
}

/// What has one meaning, the usual word first, and this meaning in a line.
pub fn rows() -> impl Iterator<Item = (Vec<&'static str>, String)> {
    let figures = Metric::VARIANTS.iter().map(|metric| {
        let (name, row) = (metric.name(), metric.row());
        let meaning = format!("{name} (figure, {}): {}", row.group.who_has_it(), row.meaning);
        (vec![name, metric.title()], meaning)
    });
    let scenarios = builtin::ALL.iter().map(|scenario| {
        let meaning = format!("{} (scenario): {}", scenario.name, scenario.title());
        (vec![scenario.name], meaning)
    });
    let glossary = table().skip(1).flat_map(|(words, meaning)| {
        let row = move |word| (vec![word], format!("{words}: {meaning}"));
        words.split(", ").map(row)
    });
    let keys = keys().flat_map(|key| {
        let default = match key.left_out {
            "" => String::new(),
            left_out => format!("; left out: {left_out}"),
        };
        let section = if key.section.is_empty() {
            "at the top"
        } else {
            key.section
        };
        let meaning = format!("{} (key, {section}; {}): {}{default}", key.names, key.form, key.what);
        key.each().map(move |name| (vec![name], meaning.clone()))
    });
    figures.chain(scenarios).chain(keys).chain(glossary)
}
