//! A validation as text: each cell on real nodes and in virtual time, and what the comparison shows.

use std::fmt::Write as _;

use super::figures::time;
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::setting;
use lockstorm_plan::validation::{Breaks, Comparison, Distance, Likeness, Validation, Verdict};

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
        Cell::new(tone(cell.overrun.verdict), format!("{low:+.2} to {high:+.2}"))
    }),
    ("D hold", |cell| distance(cell.holds)),
    ("D acquire", |cell| distance(cell.acquires)),
    ("takeover", |cell| cell.takeovers.map_or_else(Cell::none, takeover)),
    ("verdict", |cell| Cell::new(tone(cell.verdict()), word(cell.verdict()))),
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
    let worst = validation.cells.iter().max_by_key(|cell| cell.verdict());
    let (tone, mark, sentence) = match (validation.verdict(), validation.found()) {
        (_, 0) => (
            Tone::Doubt,
            "?",
            "inconclusive: TTLs that are 10 % too long in virtual time were found in no cell, so this table can't find an error".to_owned(),
        ),
        (Verdict::Agrees, _) => (
            Tone::Good,
            "✔",
            format!(
                "the simulation agrees with real nodes in all {} cells, in {} of which at least 0.1 % of the sections overrun",
                validation.cells.len(),
                validation.telling()
            ),
        ),
        (Verdict::Undecided, _) => (
            Tone::Doubt,
            "?",
            "inconclusive: a stage was left out, or there are too few samples to say that all cells agree; try again on a quieter machine, or the whole table".to_owned(),
        ),
        (Verdict::Differs, _) => (
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
        Some(Distance { d, verdict }) => Cell::new(tone(verdict), format!("{d:.3}")),
    }
}

fn takeover(likeness: Likeness) -> Cell {
    let [real, simulated] = [likeness.real_us, likeness.simulated_us].map(|us| time(us as f64 / 1e6));
    let text = format!("{real} / {simulated} ({})", count(likeness.count));
    Cell::new(tone(likeness.verdict), text)
}

pub(super) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "✔ agrees",
        Verdict::Undecided => "? undecided",
        Verdict::Differs => "✖ differs",
    }
}

pub(super) const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Agrees => Tone::Good,
        Verdict::Undecided => Tone::Doubt,
        Verdict::Differs => Tone::Bad,
    }
}
