//! How long it took to get a lock between faults.

use crate::report::table::{Cell, Table};
use lockstorm_data::metrics::units::micros;
use lockstorm_data::metrics::{HistogramText, NotAHistogram, PhaseTimes, Time, histogram};
use lockstorm_run::Record;

/// Fewer values than this beyond a percentile say nothing about it.
const BEYOND: f64 = 10.0;

/// A row for each part between faults, a column for each arm with lock nodes: p50, p99 and p99.9 of the locks that were granted.
///
/// # Errors
/// A text is not a histogram: another program wrote the record.
pub(super) fn phases(record: &Record) -> Result<Option<Table>, NotAHistogram> {
    let with_locks = || record.arms.iter().filter(|arm| arm.node_timeout.is_some());
    let Some(first) = with_locks().next() else {
        return Ok(None);
    };
    let mut table = Table {
        head: vec!["from second, with".to_owned()],
        rows: Vec::new(),
    };
    table.head.extend(with_locks().map(|arm| arm.name.clone()));
    for (index, phase) in first.phases.iter().enumerate() {
        let mut row = vec![Cell::plain(began(record, phase))];
        for arm in with_locks() {
            row.push(arm.phases.get(index).map_or_else(|| Ok(Cell::none()), granted)?);
        }
        table.rows.push(row);
    }
    Ok(Some(table))
}

fn granted(phase: &PhaseTimes) -> Result<Cell, NotAHistogram> {
    let text = phase.histograms.get(&Time::Acquired);
    let granted = text.map_or_else(|| Ok(histogram()), HistogramText::decode)?;
    if granted.is_empty() {
        return Ok(Cell::plain("none granted"));
    }
    let at = |quantile: f64| match (1.0 - quantile) * granted.len() as f64 {
        beyond if beyond < BEYOND && quantile > 0.5 => "–".to_owned(),
        _ => micros(granted.value_at_quantile(quantile)),
    };
    Ok(Cell::plain([0.5, 0.99, 0.999].map(at).join(" · ")))
}

/// When a part began, and with what.
fn began(record: &Record, phase: &PhaseTimes) -> String {
    let texts = phase.events.iter().filter_map(|id| {
        let event = record.events.iter().find(|event| event.id == *id)?;
        // What it meant, and how it was proved, stand elsewhere.
        event.text.split([':', '(']).next().map(|text| text.trim().to_owned())
    });
    let texts: Vec<String> = texts.collect();
    format!("{:.1}  {}", phase.from, texts.join(", "))
}
