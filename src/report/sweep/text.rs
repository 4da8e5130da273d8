//! A sweep as text: what each setting did, arm by arm.

use super::plot::plot_sweep;
use crate::report::columns::{Mark, marked, sign};
use crate::report::figures::{percent, percents};
use crate::report::paint::{Paint, Tone};
use crate::report::table::{Cell, Head, Table};
use lockstorm_data::metrics::units::{count, micros, rate};
use lockstorm_data::metrics::{Alarm, Metric, figure};
use lockstorm_data::model::CheckResult;
use lockstorm_plan::sweep::Tradeoff;

/// The table, in colour if wanted, and with a plot of so many columns and lines.
pub fn render_sweep(rows: &[Tradeoff], paint: Paint, plot: Option<(u16, u16)>) -> String {
    let has_takeovers = rows.iter().any(|row| row.takeover.is_some());
    let keys: Vec<&str> = rows
        .first()
        .map_or_else(Vec::new, |row| row.cell.0.iter().map(|(key, _)| key.as_str()).collect());
    let verdicts = rows.first().map_or(&[][..], |row| &row.verdicts);
    let mut head = vec![Head::new("arm")];
    head.extend(keys.iter().map(|key| Head::new(*key)));
    head.extend(["sections", "overran", "95 % interval"].map(Head::new));
    head.extend(verdicts.iter().map(|(metric, _)| Head::new(metric.title())));
    head.extend(
        [
            Metric::Throughput.title(),
            Metric::SoldPerSecond.title(),
            Metric::SoldOutPerSecond.title(),
            Metric::GaveUp.title(),
            "acquire p99",
        ]
        .map(Head::new),
    );
    if has_takeovers {
        head.extend(["takeover p50", "max"].map(Head::new));
    }
    head.extend(["renewals/s", "plays"].map(Head::new));
    let mut table = Table {
        head,
        rows: rows.iter().map(|row| cells(row, has_takeovers)).collect(),
    };
    leave_out_empty_columns(&mut table);
    let mut text = table.render(paint);
    if rows.iter().any(|row| row.inconclusive > 0) {
        text += "? inconclusive: the cause of an expectation did not occur, or the run lost something it needs; the results file says which\n";
    }
    if let Some(lines) = plot.and_then(|room| plot_sweep(rows, room, paint)) {
        text.push('\n');
        text += &(lines.join("\n") + "\n");
    }
    text
}

/// Leaves out what no row has: many sweeps have no stock that sells out, and no renewal.
fn leave_out_empty_columns(table: &mut Table) {
    let is_empty = |column: &usize| table.rows.iter().all(|row| row.get(*column) == Some(&Cell::none()));
    let empty: Vec<usize> = (0..table.head.len())
        .filter(|column| !table.rows.is_empty() && is_empty(column))
        .collect();
    for column in empty.into_iter().rev() {
        table.head.remove(column);
        for row in &mut table.rows {
            row.remove(column);
        }
    }
}

fn cells(row: &Tradeoff, with_takeover: bool) -> Vec<Cell> {
    let verdict = |&(metric, value): &(Metric, Option<f64>)| {
        value.map_or_else(Cell::none, |value| {
            let has_failed = match metric.row().alarm {
                Alarm::Damage(_) => value > 0.0,
                Alarm::Poor(most) => value > most,
                Alarm::Plain | Alarm::Doubt => false,
            };
            let result = match row.inconclusive {
                _ if has_failed => CheckResult::Failed,
                0 => CheckResult::Held,
                _ => CheckResult::Inconclusive,
            };
            marked(sign(Mark::new(metric, Some(result))), figure(metric, value), false)
        })
    };
    let overran = match row.overran_interval {
        None => [Cell::none(), Cell::none()],
        Some([low, high]) => [
            Cell::plain(percent(row.overran as f64 / row.sections as f64)),
            Cell::plain(percents(low, high)),
        ],
    };
    let mut cells = vec![Cell::plain(row.arm.clone())];
    cells.extend(row.cell.0.iter().map(|(_, value)| Cell::plain(value.clone())));
    cells.push(Cell::plain(count(row.sections)));
    cells.extend(overran);
    cells.extend(row.verdicts.iter().map(verdict));
    let if_any = |value: f64, text: String| if value > 0.0 { Cell::plain(text) } else { Cell::none() };
    cells.push(Cell::plain(rate(row.throughput)));
    cells.extend(
        [row.sold_per_second, row.sold_out_per_second]
            .map(|sold| sold.map_or_else(Cell::none, |sold| if_any(sold, rate(sold)))),
    );
    cells.push(if_any(row.gave_up as f64, count(row.gave_up)));
    cells.push(Cell::plain(micros(row.acquire_p99_us)));
    if with_takeover {
        let time = |us: Option<u64>| us.map_or_else(Cell::none, |us| Cell::plain(micros(us)));
        cells.push(time(row.takeover.map(|takeover| takeover.p50_us)));
        cells.push(time(row.takeover.map(|takeover| takeover.max_us)));
    }
    cells.push(match row.renewals_per_second > 0.0 {
        true => Cell::plain(rate(row.renewals_per_second)),
        false => Cell::none(),
    });
    let plays = match row.inconclusive {
        0 => Cell::plain(row.plays.to_string()),
        some => Cell::new(Tone::Doubt, format!("{} (? {some})", row.plays)),
    };
    cells.push(plays);
    cells
}
