//! All figures of the arms, in the tables of the summary.

use super::group::Runs;
use super::spread::spread;
use crate::report::columns::{Arm, HOLDS, LOAD, LOCKS, SECTIONS, heads};
use crate::report::table::{Cell, Head, Table};
use crate::report::tables;
use lockstorm_data::metrics::{Column, Metric, Shown};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::ArmSpec;

/// The tables of a run's summary. Of several runs each figure has its range.
pub(super) fn figures(runs: &Runs) -> Vec<Table> {
    let (scenario, arms) = (runs.scenario(), Arm::all_of_record(runs.first()));
    let one = [
        tables::locks(&arms),
        tables::sections(&arms),
        tables::holds(&arms),
        Some(tables::load(&arms)),
        tables::results(&scenario.workload, &arms),
    ];
    if runs.all().len() == 1 {
        return one.into_iter().flatten().collect();
    }
    let shown = [
        LOCKS,
        SECTIONS,
        HOLDS,
        LOAD,
        scenario.workload.about().display().columns,
    ];
    let tables = one
        .into_iter()
        .zip(shown)
        .filter_map(|(table, shown)| Some((table?, shown)));
    tables
        .map(|(table, shown)| over_runs(runs, table.head.into_iter().next(), shown))
        .collect()
}

/// A table of these columns, as far as they are figures, over all runs.
fn over_runs(runs: &Runs, title: Option<Head>, shown: &[Shown]) -> Table {
    let is_any = |metric: &Metric| {
        let mut arms = runs.all().iter().flat_map(|record| &record.arms);
        arms.any(|arm| metric.of(&arm.figures) > 0.0)
    };
    let figures = shown.iter().filter_map(|shown| match shown {
        Shown::Always(Column::Figure(metric)) => Some(*metric),
        Shown::IfAny(Column::Figure(metric)) => Some(*metric).filter(is_any),
        _ => None,
    });
    let figures: Vec<Metric> = figures.collect();
    let titles = heads(figures.iter().copied().map(Column::Figure));
    let head = title.into_iter().chain(titles.into_iter().map(Head::new)).collect();
    let row = |(index, spec): (usize, &ArmSpec)| {
        let arms = runs.arm(index);
        let mut cells = vec![Cell::plain(printable(&spec.name))];
        cells.extend(figures.iter().map(|metric| spread(*metric, &arms)));
        cells
    };
    Table {
        head,
        rows: runs.scenario().arms.iter().enumerate().map(row).collect(),
    }
}
