//! A replay as text: what an arm did on real nodes, and in virtual time under the same faults.

use super::figures::{small, time};
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};
use super::validation::{tone, word};
use lockstorm_data::metrics::units::counted;
use lockstorm_data::model::CheckResult;
use lockstorm_plan::{Compared, Played, Replay};

const COLUMNS: [Column<Compared>; 5] = [
    ("", |figure| Cell::plain(figure.title)),
    ("real nodes", |figure| written(figure, figure.real)),
    ("virtual time, mean", |figure| written(figure, figure.mean)),
    ("95 % of the plays", |figure| match figure.interval {
        None => Cell::none(),
        Some([low, high]) => Cell::plain(format!(
            "{} to {}",
            written(figure, Some(low)).text,
            written(figure, Some(high)).text
        )),
    }),
    ("verdict", |figure| Cell::new(tone(figure.result), word(figure.result))),
];

/// Both, in colour if wanted.
pub fn render_replay(replay: &Replay, played: &Played, paint: Paint) -> String {
    let orders = replay.orders() as u64;
    let orders = counted(orders, "fault and end of fault", "faults and ends of faults");
    let mut figures = replay.compared(played);
    figures.retain(|figure| figure.real.or(figure.mean).is_some());
    let mut text = format!(
        "\"{}\", played {} with {orders} of the run at the times of their effects\n\n{}",
        replay.arm,
        counted(played.plays.len() as u64, "time", "times"),
        Table::of(&COLUMNS, &figures).render(paint)
    );
    if played.all.overlaps > 0 {
        text += &format!(
            "{} two holders at a time: {}, in all plays together\n",
            paint.apply(Tone::Bad, "✖"),
            counted(played.all.overlaps, "lock", "locks")
        );
    }
    for left in &replay.left_out {
        text += &format!("! not played: {left}\n");
    }
    let is_undecided = |figure: &Compared| figure.result == CheckResult::Inconclusive;
    if !figures.iter().all(is_undecided) {
        text += "real nodes within 95 % of the plays, or outside: of twenty figures that agree, one lies outside by chance\n";
    }
    if figures.iter().any(is_undecided) {
        text += why_undecided(replay, played);
    }
    if played.all.violations > 0 {
        text += &format!("{} a law of the lock was broken: a bug\n", paint.apply(Tone::Bad, "✖"));
    }
    text
}

fn why_undecided(replay: &Replay, played: &Played) -> &'static str {
    if !replay.left_out.is_empty() {
        "? undecided: what was not played may explain any difference\n"
    } else if played.plays.len() < 39 {
        "? undecided: 95 % of the plays are known from 39 plays on\n"
    } else {
        "? undecided: too few to say; with none at all it would look the same\n"
    }
}

fn written(figure: &Compared, value: Option<f64>) -> Cell {
    match value {
        None => Cell::none(),
        Some(us) if figure.is_time => Cell::plain(time(us / 1e6)),
        Some(number) => Cell::plain(small(number)),
    }
}
