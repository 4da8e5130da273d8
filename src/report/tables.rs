//! The tables of the summary.

use super::columns::{Arm, HOLDS, LOAD, LOCKS, SECTIONS, heads, orders, table};
use super::paint::Tone;
use super::table::{Cell, Head, Table};
use lockstorm_data::metrics::units::{count, micros};
use lockstorm_data::metrics::{Column, Group, Metric, NodeLoad, ServerLoad};
use lockstorm_data::scenario::{LockKind, WorkloadSpec};
use lockstorm_run::{ArmRecord, Record};

/// The table of the locks; `None` if no arm has one.
pub(super) fn locks(arms: &[Arm<'_>]) -> Option<Table> {
    arms.iter()
        .any(|arm| arm.has(Group::Locks))
        .then(|| table("locks", LOCKS, arms))
}

/// The table of the sections under the locks; `None` without locks that may end before them.
pub(super) fn sections(arms: &[Arm<'_>]) -> Option<Table> {
    let any = arms.iter().any(|arm| arm.has(Group::Losses));
    any.then(|| table("sections", SECTIONS, arms))
}

/// The table of holds that overlap; `None` if no arm has a lock.
pub(super) fn holds(arms: &[Arm<'_>]) -> Option<Table> {
    arms.iter()
        .any(|arm| arm.has(Group::Locks))
        .then(|| table("two at once", HOLDS, arms))
}

/// The table of the load.
pub(super) fn load(arms: &[Arm<'_>]) -> Table {
    table("load", LOAD, arms)
}

/// The table of the workload's results; `None` if it has no figures of its own.
pub(super) fn results(workload: &WorkloadSpec, arms: &[Arm<'_>]) -> Option<Table> {
    let display = workload.about().display();
    let has_any = !display.columns.is_empty();
    has_any.then(|| table(display.table, display.columns, arms))
}

/// The commands that each lock node was sent for each arm, and why it gave no vote in acquires that failed for that, if any
/// did; `None` without lock nodes.
pub(super) fn lock_nodes(record: &Record) -> Option<Table> {
    let nodes = record
        .arms
        .iter()
        .zip(&record.scenario.arms)
        // What another program sends is not known.
        .filter(|(_, spec)| spec.lock != LockKind::Client)
        .flat_map(|(arm, _)| arm.figures.nodes.iter().enumerate().map(move |node| (arm, node)));
    let has_causes = nodes.clone().any(|(_, (_, node))| !node.causes.is_empty());
    let mut head = ["nodes", "sets", "extensions", "deletes"].map(Head::new).to_vec();
    if has_causes {
        head.push(Head::new("no votes in failed acquires"));
    }
    let row = |(arm, (place, node)): (&ArmRecord, (usize, &NodeLoad))| {
        let mut row = vec![
            Cell::plain(format!("{}, {}", arm.name, name(record, arm, place))),
            Cell::plain(count(node.sets)),
            Cell::plain(count(node.extends)),
            Cell::plain(count(node.deletes)),
        ];
        if has_causes {
            let causes = node.causes.iter();
            let causes: Vec<String> = causes.map(|(cause, n)| format!("{} × {cause}", count(*n))).collect();
            row.push(Cell::new(Tone::Doubt, causes.join(", ")));
        }
        row
    };
    let rows: Vec<_> = nodes.map(row).collect();
    (!rows.is_empty()).then_some(Table { head, rows })
}

/// The name of an arm's node at this place.
fn name(record: &Record, arm: &ArmRecord, place: usize) -> String {
    let scenario = &record.scenario;
    let spec = scenario.arms.iter().find(|spec| spec.name == arm.name);
    let voter = spec.and_then(|spec| spec.voters(&scenario.lab).get(place).copied());
    voter.map_or_else(|| format!("node {}", place + 1), |voter| voter.to_string())
}

/// The figures in the table of app servers.
const SERVER_FIGURES: [Metric; 7] = [
    Metric::Offered,
    Metric::Completed,
    Metric::Dropped,
    Metric::Late,
    Metric::Orders,
    Metric::ResponseP50,
    Metric::ResponseP99,
];

/// What each app server did for each arm, if requests are dealt to app servers; `None` in a closed loop.
pub(super) fn servers(record: &Record, arms: &[Arm<'_>]) -> Option<Table> {
    record.scenario.swarm.rate?;
    let mut head = vec![Head::new("app servers")];
    head.extend(heads(SERVER_FIGURES.map(Column::Figure)).into_iter().map(Head::new));
    let row = |(arm, load): (&Arm<'_>, &ServerLoad)| {
        let time = |us| {
            let any = load.response_us.count > 0;
            if any { Cell::plain(micros(us)) } else { Cell::none() }
        };
        vec![
            Cell::plain(format!("{}, {}", arm.name, load.server)),
            Cell::plain(count(load.offered)),
            Cell::plain(count(load.completed)),
            Cell::plain(count(load.dropped)),
            Cell::plain(count(load.late)),
            orders(arm, load.orders),
            time(load.response_us.p50),
            time(load.response_us.p99),
        ]
    };
    let rows = arms
        .iter()
        .flat_map(|arm| arm.figures.servers.iter().map(move |load| (arm, load)))
        .map(row)
        .collect();
    Some(Table { head, rows })
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;
    use lockstorm_data::metrics::{Alarm, Shown};
    use lockstorm_data::scenario::Words;
    use lockstorm_kit::scenario::workloads;

    /// Figures that are part of another column or only exist during a run, and quantiles for expectations and the record
    /// only.
    const NO_COLUMN: [Metric; 19] = [
        Metric::Contested,
        Metric::RefusedWhileFree,
        Metric::BareQuorums,
        Metric::DuplicateFills,
        Metric::AcquireP90,
        Metric::AcquireP999,
        Metric::Attempts,
        Metric::TakeoverP99,
        Metric::Sections,
        Metric::HoldP50,
        Metric::Begun,
        Metric::Answered,
        Metric::ResponseP90,
        Metric::ResponseP999,
        Metric::ResponseMax,
        Metric::LagP50,
        Metric::LostUpdatesPeak,
        Metric::Holding,
        Metric::Partial,
    ];

    #[test]
    fn every_figure_has_a_column_or_is_left_out_on_purpose() {
        let mut columns: Vec<Column> = [LOCKS, SECTIONS, HOLDS, LOAD]
            .concat()
            .iter()
            .map(|shown| shown.column())
            .collect();
        for workload in workloads() {
            columns.extend(workload.about().display().columns.iter().map(|shown| shown.column()));
        }
        for metric in Metric::VARIANTS {
            assert_ne!(
                columns.contains(&Column::Figure(*metric)),
                NO_COLUMN.contains(metric),
                "{metric:?} needs a place in a table of src/report/columns or among what is shown of a workload, or among those \
                 that have none"
            );
        }
    }

    #[test]
    fn a_workload_is_judged_by_figures_that_it_has_and_shows() {
        for workload in workloads() {
            let (kind, name) = (workload.about(), workload.name().word());
            let display = kind.display();
            assert!(!display.verdicts.is_empty(), "{name} is about nothing");
            for metric in display.verdicts {
                let row = metric.row();
                assert!(
                    !matches!(row.alarm, Alarm::Plain),
                    "{metric:?} of {name} is not a verdict"
                );
                let in_console = |(shown, _): &(Metric, u8)| shown == metric;
                assert!(
                    display.console.iter().any(in_console),
                    "the console's table of {name} lacks {metric:?}"
                );
                // Figures that other workloads have too are in a table above.
                let is_own = row.group.is_of_a_workload();
                let in_summary = |shown: &Shown| shown.column() == Column::Figure(*metric);
                assert!(
                    !is_own || kind.groups().contains(&row.group),
                    "{name} has no {metric:?}"
                );
                assert!(
                    !is_own || display.columns.iter().any(in_summary),
                    "the summary of {name} lacks {metric:?}"
                );
            }
            for group in kind.groups() {
                assert!(group.is_of_a_workload(), "{group:?} is a group of {name}");
                let damage = Metric::VARIANTS
                    .iter()
                    .filter(|metric| metric.row().group == *group && metric.is_damage());
                for metric in damage.filter(|metric| metric.peak() == **metric) {
                    let shown = display.verdicts.iter().any(|verdict| verdict.peak() == *metric);
                    assert!(shown, "{metric:?} of {name} is damage and not among its verdicts");
                }
            }
        }
    }
}
