use super::arm::Arm;
use super::column::Column;
use super::{cache_fill, inventory, judged, load, locks};
use crate::metrics::units::{micros, rate, short_rate};
use crate::metrics::{Alarm, Metric, Value};
use crate::report::paint::Tone;
use crate::report::table::Cell;

/// An arm's cell in a column; none: the arm has no such figure.
pub(crate) fn cell(column: Column, arm: &Arm<'_>) -> Option<Cell> {
    match column {
        Column::Figure(Metric::Orders) => Some(inventory::orders(arm, arm.figures.orders)),
        Column::Figure(Metric::LostUpdates) => Some(inventory::lost_updates(arm)),
        Column::Figure(Metric::Oversold) => Some(inventory::oversold(arm)),
        Column::Figure(Metric::Overran) => locks::overran(arm),
        Column::Figure(Metric::DbHitsPerExpiry | Metric::DbHitsPerExpiryMax) if cache_fill::nothing_expired(arm) => {
            None
        }
        Column::Figure(metric) => figure(metric, arm),
        Column::AttemptsPerAcquire => locks::attempts_per_acquire(arm),
        Column::VotesAtRelease => locks::votes(arm, &arm.figures.votes_at_release),
        Column::VotesInTheEnd => locks::votes(arm, &arm.figures.votes_in_the_end),
        Column::VotesNow => locks::votes_now(arm),
        Column::AfterTheEnd => Some(Cell::plain(arm.count(arm.after_end))),
        Column::FinishedAt => Some(load::finished_at(arm)),
        Column::ThroughputNow => load::throughput_now(arm),
        Column::Bound => inventory::bound(arm),
    }
}

/// A figure as its row in the table of metrics says.
fn figure(metric: Metric, arm: &Arm<'_>) -> Option<Cell> {
    let row = metric.row();
    if !arm.has(row.group) {
        return None;
    }
    let n = match row.value {
        Value::Counted(count) => arm.figures.counts[count],
        Value::Number(read) | Value::Level(read) => read(arm.figures),
        Value::Mean(read) => return Some(Cell::plain(format!("{:.2}", read(arm.figures)))),
        Value::PerSecond(read) => {
            let written = if arm.is_narrow { short_rate } else { rate };
            return Some(Cell::plain(written(read(arm.figures))));
        }
        Value::Duration(read, quantile) => {
            let quantiles = read(arm.figures);
            return (quantiles.count > 0).then(|| Cell::plain(micros(quantiles.get(quantile))));
        }
    };
    Some(match row.alarm {
        Alarm::Damage => judged::damage(arm, n),
        Alarm::Doubt if n > 0 => Cell::new(Tone::Doubt, arm.count(n)),
        Alarm::Doubt | Alarm::Plain => Cell::plain(arm.count(n)),
    })
}
