//! The verdict on each lock, over all runs.

use super::group::Runs;
use super::spread::spread;
use crate::report::columns::{Arm, badge, cell, marked, none_of};
use crate::report::paint::Tone;
use crate::report::story::{counted, order, verdicts};
use crate::report::table::{Cell, Contents, Head, Table};
use lockstorm_data::metrics::{Column, Metric};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Scenario;
use lockstorm_judge::Outcome;

/// The rows of the table of verdicts, each with the name of its arm in the scenario.
pub(super) fn verdict_rows(runs: &Runs) -> impl Iterator<Item = (&str, Vec<Cell>)> {
    let arms = order(runs.scenario())
        .into_iter()
        .map(move |arm| &runs.scenario().arms[arm]);
    arms.map(|arm| arm.name.as_str()).zip(verdict_table(runs).rows)
}

/// The verdict on each lock. Of one run it is the table of its summary.
pub(super) fn verdict_table(runs: &Runs) -> Table {
    let (scenario, all) = (runs.scenario(), runs.all());
    let headline = counted(scenario);
    if let [only] = all {
        return of_one(scenario, &Arm::all_of_record(only), headline);
    }
    let mut metrics = vec![headline];
    let others = scenario.workload.about().display().verdicts.iter().copied();
    metrics.extend(others.chain([Metric::DoubleHolds, Metric::UnavailableMs]));
    let mut seen = Vec::new();
    metrics.retain(|metric| {
        let is_new = !seen.contains(metric);
        seen.push(*metric);
        is_new
    });
    let mut head = vec![Head::new("lock"), Head::new("held")];
    head.extend(metrics.iter().map(|metric| Head::new(metric.title())));
    head.push(Head::new("why").of(Contents::Sentences));
    let row = |index: usize| {
        let arms = runs.arm(index);
        let judged = || arms.iter().map(|arm| &arm.judged);
        let held = judged().filter(|judged| judged.outcome == Outcome::Held).count();
        // One run in which it broke outweighs those that have shown nothing.
        let broke = judged().find(|judged| judged.outcome.is_broken());
        let worst = broke.or_else(|| judged().find(|judged| judged.outcome != Outcome::Held));
        let sign = badge(worst.map_or(Outcome::Held, |judged| judged.outcome));
        let text = match worst {
            Some(control) if control.outcome == Outcome::Control => control.word(&scenario.workload).to_owned(),
            _ => format!("{held} of {}", arms.len()),
        };
        let mut cells = vec![
            Cell::new(Tone::Strong, name(scenario, index)),
            marked(sign, text, false),
        ];
        cells.extend(metrics.iter().map(|metric| of_several(*metric, &arms)));
        let mut causes: Vec<String> = Vec::new();
        for arm in &arms {
            let cause = arm.judged.causes.first();
            let cause = cause.map(|cause| cause.uncounted(&scenario.workload));
            causes.extend(cause.filter(|cause| !causes.contains(cause)));
        }
        cells.push(Cell::plain(causes.join("; ")));
        cells
    };
    Table {
        head,
        rows: order(scenario).into_iter().map(row).collect(),
    }
}

/// The table of a run's summary, with the double holds, for which a terminal has no room.
fn of_one(scenario: &Scenario, arms: &[Arm<'_>], headline: Metric) -> Table {
    let mut table = verdicts(scenario, arms, headline, usize::MAX);
    let title = Metric::DoubleHolds.title();
    if !table.head.iter().any(|head| head.title == title) {
        let damage = scenario.workload.about().display().verdicts.iter();
        // Behind the lock, the verdict and the damage.
        let place = 3 + damage.filter(|metric| **metric != headline).count();
        table.head.insert(place, Head::new(title));
        for (arm, row) in order(scenario).into_iter().zip(&mut table.rows) {
            let double_holds = cell(Column::Figure(Metric::DoubleHolds), &arms[arm]);
            row.insert(place, double_holds.unwrap_or_else(Cell::none));
        }
    }
    table
}

/// A figure over several runs; if there was no double hold in any, with what that means.
fn of_several(metric: Metric, arms: &[Arm<'_>]) -> Cell {
    let mut cell = spread(metric, arms);
    if metric == Metric::DoubleHolds && arms.iter().all(|arm| arm.figures.double_holds == 0) {
        let acquired = arms.iter().map(|arm| arm.figures.outcomes.acquired).sum();
        cell.text.extend(none_of(acquired).map(|bound| format!(" {bound}")));
    }
    cell
}

/// The name of an arm.
pub(super) fn name(scenario: &Scenario, arm: usize) -> String {
    printable(&scenario.arms[arm].name)
}
