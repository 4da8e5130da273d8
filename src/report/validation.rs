//! A validation as text: each cell on real nodes and in virtual time, and what the comparison shows.

use std::fmt::Write as _;

use super::figures::time;
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::{CheckResult, setting};
use lockstorm_plan::validation::{Breaks, Comparison, Distance, Likeness, Validation};

const COLUMNS: [Column<Comparison>; 12] = [
    ("lock", |cell| Cell::plain(cell.lock.name())),
    ("TTL", |cell| Cell::plain(setting(cell.stage.setting.ttl))),
    ("renew", |cell| Cell::plain(cell.stage.setting.renewal.to_string())),
    ("breaks", |cell| Cell::plain(breaks(cell.stage.breaks))),
    ("sections", |cell| Cell::plain(count(cell.sections))),
    ("overran", |cell| percent(cell.overrun.real)),
    ("simulated", |cell| percent(cell.overrun.simulated)),
    ("difference, 99 %", |cell| {
        let [low, high] = cell.overrun.interval.map(|end| end * 100.0);
        Cell::new(tone(cell.overrun.result), format!("{low:+.2} to {high:+.2}"))
    }),
    ("D hold", |cell| distance(cell.holds)),
    ("D acquire", |cell| distance(cell.acquires)),
    ("takeover", |cell| cell.takeovers.map_or_else(Cell::none, takeover)),
    ("verdict", |cell| Cell::new(tone(cell.result()), word(cell.result()))),
];

/// The table, and what it means.
pub fn render_validation(validation: &Validation, paint: Paint) -> String {
    let mut text = Table::of(&COLUMNS, &validation.cells).render(paint);
    text += "sections were played on real nodes; overran: the part that outlasted its lock there; simulated: the same in virtual time, \
             from the\nholds, acquires and pauses that were measured. D: the largest distance of two distributions, 0.05 at most. \
             takeover: the mean on\nreal nodes, in virtual time, and how many\n";
    for left in &validation.left_out {
        // `write!` to a String can't fail.
        let _ = writeln!(text, "{} left out: {left}", paint.apply(Tone::Doubt, "?"));
    }
    let worst = validation.cells.iter().max_by_key(|cell| cell.result());
    let (tone, mark, sentence) = match (validation.result(), validation.found()) {
        (_, 0) => (
            Tone::Doubt,
            "?",
            "inconclusive: TTLs that are 10 % too long in virtual time were found in no cell, so this table can't find an error".to_owned(),
        ),
        (CheckResult::Held, _) => (
            Tone::Good,
            "✔",
            format!(
                "the simulation agrees with real nodes in all {} cells, in {} of which at least 0.1 % of the sections overrun",
                validation.cells.len(),
                validation.telling()
            ),
        ),
        (CheckResult::Inconclusive, _) => (
            Tone::Doubt,
            "?",
            "inconclusive: a stage was left out, or there are too few samples to say that all cells agree; try again on a quieter machine, or the whole table".to_owned(),
        ),
        (CheckResult::Failed, _) => (
            Tone::Bad,
            "✖",
            format!(
                "the simulation differs from real nodes: {}",
                worst.map(named).unwrap_or_default()
            ),
        ),
    };
    // `write!` to a String can't fail.
    let _ = writeln!(text, "\n{} {sentence}", paint.apply(tone, mark));
    let _ = writeln!(
        text,
        "  control: with TTLs that are 10 % too long in virtual time, {} of {} cells differ",
        validation.found(),
        validation.control.len()
    );
    text
}

fn named(cell: &Comparison) -> String {
    format!(
        "{} with TTL {}, renewal {}, {}",
        cell.lock.name(),
        setting(cell.stage.setting.ttl),
        cell.stage.setting.renewal,
        breaks(cell.stage.breaks)
    )
}

const fn breaks(breaks: Breaks) -> &'static str {
    match breaks {
        Breaks::Nothing => "nothing",
        Breaks::Pauses => "pauses",
        Breaks::Crashes => "crashes",
    }
}

fn percent(p: f64) -> Cell {
    Cell::plain(format!("{:.2} %", p * 100.0))
}

fn distance(distance: Option<Distance>) -> Cell {
    match distance {
        None => Cell::none(),
        Some(Distance { d, result }) => Cell::new(tone(result), format!("{d:.3}")),
    }
}

fn takeover(likeness: Likeness) -> Cell {
    let [real, simulated] = [likeness.real_us, likeness.simulated_us].map(|us| time(us as f64 / 1e6));
    let text = format!("{real} / {simulated} ({})", count(likeness.count));
    Cell::new(tone(likeness.result), text)
}

pub(super) const fn word(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Held => "✔ agrees",
        CheckResult::Inconclusive => "? undecided",
        CheckResult::Failed => "✖ differs",
    }
}

pub(super) const fn tone(result: CheckResult) -> Tone {
    match result {
        CheckResult::Held => Tone::Good,
        CheckResult::Inconclusive => Tone::Doubt,
        CheckResult::Failed => Tone::Bad,
    }
}
