//! A sweep as text: what each setting did, arm by arm.

use super::figures::percent;
use super::paint::{Paint, Tone};
use super::table::{Cell, Table};
use crate::metrics::units::{count, micros, rate};
use crate::plan::formulas::wilson;
use crate::sweep::Tradeoff;

/// The table, in colour if wanted.
#[must_use]
pub fn render_sweep(rows: &[Tradeoff], paint: Paint) -> String {
    let keys: Vec<&str> = rows
        .first()
        .map_or_else(Vec::new, |row| row.cell.0.iter().map(|(key, _)| key.as_str()).collect());
    let mut head: Vec<String> = vec!["arm".to_owned()];
    head.extend(keys.iter().map(|key| (*key).to_owned()));
    head.extend(
        [
            "sections",
            "overran",
            "95 % interval",
            "lost updates",
            "oversold",
            "ok/s",
            "acquire p99",
            "renewals/s",
            "plays",
        ]
        .map(str::to_owned),
    );
    let table = Table {
        head,
        rows: rows.iter().map(cells).collect(),
    };
    let mut text = table.render(paint);
    if rows.iter().any(|row| row.inconclusive > 0) {
        text += "? inconclusive: the cause of an expectation did not occur, or the run lost something it needs; the results file says which\n";
    }
    text
}

fn cells(row: &Tradeoff) -> Vec<Cell> {
    let damage = |n: Option<u64>| match (n, row.inconclusive) {
        (None, _) => Cell::none(),
        (Some(0), 0) => Cell::new(Tone::Good, "✔ 0"),
        (Some(0), _) => Cell::new(Tone::Doubt, "? 0"),
        (Some(n), _) => Cell::new(Tone::Bad, format!("✖ {}", count(n))),
    };
    let (low, high) = wilson(row.overran as f64, (row.sections as f64).max(1.0));
    let overran = match row.sections {
        0 => [Cell::none(), Cell::none()],
        sections => [
            Cell::plain(percent(row.overran as f64 / sections as f64)),
            Cell::plain(format!("{} to {}", percent(low), percent(high))),
        ],
    };
    let mut cells = vec![Cell::plain(row.arm.clone())];
    cells.extend(row.cell.0.iter().map(|(_, value)| Cell::plain(value.clone())));
    cells.push(Cell::plain(count(row.sections)));
    cells.extend(overran);
    cells.push(damage(row.lost_updates));
    cells.push(damage(row.oversold));
    cells.push(Cell::plain(rate(row.throughput)));
    cells.push(Cell::plain(micros(row.acquire_p99_us)));
    cells.push(Cell::plain(rate(row.renewals_per_second)));
    let plays = match row.inconclusive {
        0 => Cell::plain(row.plays.to_string()),
        some => Cell::new(Tone::Doubt, format!("{} (? {some})", row.plays)),
    };
    cells.push(plays);
    cells
}
