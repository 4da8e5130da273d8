//! What the oracles made of broken locks, as text.

use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};
use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::CheckResult;
use lockstorm_selftest::{Row, SelfTest};

const COLUMNS: [Column<Row>; 6] = [
    ("lock", |row| Cell::plain(format!("{}: {}", row.lock, row.what))),
    ("caught as", |row| match row.layers {
        [layer] => Cell::plain(<&str>::from(layer).to_lowercase()),
        _ => Cell::plain("anything"),
    }),
    ("locks", |row| Cell::plain(count(row.acquired))),
    ("found", |row| Cell::plain(count(row.found))),
    ("needed", |row| match row.needed {
        0 => Cell::plain("0"),
        least => Cell::plain(format!("≥ {least}")),
    }),
    ("verdict", |row| {
        let (tone, mark, word) = words(row.result, row.is_right());
        Cell::new(tone, format!("{mark} {word}"))
    }),
];

/// The table, and what follows from it.
pub fn render_selftest(result: &SelfTest, paint: Paint) -> String {
    let mut text = Table::of(&COLUMNS, &result.rows).render(paint) + "\n";
    for (of, are_right) in [
        (CheckResult::Failed, false),
        (CheckResult::Failed, true),
        (CheckResult::Inconclusive, false),
        (CheckResult::Inconclusive, true),
    ] {
        let (locks, (tone, mark, word)) = (result.with(of, are_right), words(of, are_right));
        if !locks.is_empty() {
            text += &format!("{} {word}: {}\n", paint.apply(tone, mark), locks.join(", "));
        }
    }
    let mut told: Vec<&Caveat> = Vec::new();
    for doubt in result.rows.iter().filter_map(|row| row.doubt.as_ref()) {
        if !told.contains(&doubt) {
            told.push(doubt);
            text += &format!("  {doubt}\n");
        }
    }
    if result.passed {
        let (mark, caught) = (
            paint.apply(Tone::Good, "✔"),
            result.with(CheckResult::Held, false).len(),
        );
        text += &format!("{mark} {caught} broken locks were caught, and nothing was found of the right ones\n");
    }
    text
}

const fn words(result: CheckResult, is_right: bool) -> (Tone, &'static str, &'static str) {
    match (result, is_right) {
        (CheckResult::Held, false) => (Tone::Good, "✔", "caught"),
        (CheckResult::Failed, false) => (Tone::Bad, "✖", "missed"),
        (CheckResult::Held, true) => (Tone::Good, "✔", "clean"),
        (CheckResult::Failed, true) => (Tone::Bad, "✖", "false alarm"),
        (CheckResult::Inconclusive, _) => (Tone::Doubt, "?", "inconclusive"),
    }
}
