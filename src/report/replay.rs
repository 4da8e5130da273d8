//! A replay as text: what an arm did on real nodes, and in virtual time under the same faults.

use super::figures::time;
use super::paint::{Paint, Tone};
use super::table::{Cell, Table};
use lockstorm_data::metrics::units::{count, counted};
use lockstorm_plan::{Played, Replay, Replayed};

/// Both, in colour if wanted.
#[must_use]
pub fn render_replay(replay: &Replay, played: &Played, paint: Paint) -> String {
    let head = ["", "sections", "overran", "refused", "takeovers", "mean", "two holders"];
    let holders = match played.all.overlaps {
        0 => Cell::plain("0"),
        some => Cell::new(Tone::Bad, format!("{} in all", count(some))),
    };
    let table = Table {
        head: head.map(str::to_owned).into(),
        rows: vec![
            cells("real nodes", &replay.real, Cell::none()),
            cells("virtual time, mean", &played.means, holders),
        ],
    };
    let orders = replay.orders() as u64;
    let orders = counted(orders, "fault and end of fault", "faults and ends of faults");
    let mut text = format!(
        "\"{}\", played {} with {orders} of the run at the times of their effects\n\n{}",
        replay.arm,
        counted(played.times, "time", "times"),
        table.render(paint)
    );
    for left in &replay.left_out {
        text += &format!("! not played: {left}\n");
    }
    if played.all.violations > 0 {
        text += &format!("{} a law of the lock was broken: a bug\n", paint.apply(Tone::Bad, "✖"));
    }
    text
}

fn cells(name: &str, did: &Replayed, holders: Cell) -> Vec<Cell> {
    let number = |value: f64| {
        Cell::plain(if value < 10.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        })
    };
    vec![
        Cell::plain(name),
        number(did.sections),
        number(did.overran),
        number(did.refused),
        number(did.takeovers),
        match did.takeovers > 0.0 {
            true => Cell::plain(time(did.takeover_mean)),
            false => Cell::none(),
        },
        holders,
    ]
}
