use super::arm::Arm;
use super::heads::heads;
use super::judged::{judged, written};
use super::{inventory, load, locks};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Head, Table};
use lockstorm_data::metrics::{Alarm, Column, Entry, Metric, Shown};

/// A table with these columns, and a row for each arm.
pub(crate) fn table(title: &str, columns: &[Shown], arms: &[Arm<'_>]) -> Table {
    let shown = columns.iter().filter(|shown| is_worth_it(**shown, arms));
    let columns: Vec<Column> = shown.map(|shown| shown.column()).collect();
    let mut head = vec![Head::new(title)];
    head.extend(heads(columns.iter().copied()).into_iter().map(Head::new));
    let row = |arm: &Arm<'_>| {
        let mut cells = vec![Cell::plain(arm.name)];
        cells.extend(
            columns
                .iter()
                .map(|column| cell(*column, arm).unwrap_or_else(Cell::none)),
        );
        cells
    };
    Table {
        head,
        rows: arms.iter().map(row).collect(),
    }
}

fn is_worth_it(shown: Shown, arms: &[Arm<'_>]) -> bool {
    match shown {
        Shown::Always(_) => true,
        Shown::IfAny(column) => !arms.iter().all(|arm| is_nothing(column, arm)),
    }
}

/// Whether an arm's cell in a column says nothing: the arm has no such figure, or it is a count or rate of zero.
pub(crate) fn is_nothing(column: Column, arm: &Arm<'_>) -> bool {
    let is_zero = match column {
        Column::Figure(metric) => metric.is_zero(arm.figures),
        Column::AfterTheEnd => arm.after_end == 0,
        Column::FinishedAt => arm.figures.finish.is_none(),
        Column::ThroughputNow => arm.now.is_some_and(|now| now.live.per_second <= 0.0),
        _ => false,
    };
    is_zero || cell(column, arm).is_none()
}

/// An arm's cell in a column; `None` if the arm has no such figure.
pub(crate) fn cell(column: Column, arm: &Arm<'_>) -> Option<Cell> {
    match column {
        Column::Figure(Metric::Orders) => Some(inventory::orders(arm, arm.figures.booked(Entry::Orders))),
        Column::Figure(Metric::Oversold) => inventory::oversold(arm),
        Column::Figure(Metric::Overran) => locks::overran(arm),
        Column::Figure(Metric::DoubleHolds) => locks::double_holds(arm),
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

/// A figure, in the way that the table of metrics says.
fn figure(metric: Metric, arm: &Arm<'_>) -> Option<Cell> {
    match metric.row().alarm {
        Alarm::Damage(_) | Alarm::Poor(_) => judged(metric, arm),
        // It has a colour but no mark: zero refusals, for example, are no reason for praise.
        Alarm::Doubt if metric.of(arm.figures) > 0.0 => Some(Cell::new(Tone::Doubt, written(metric, arm)?)),
        Alarm::Doubt | Alarm::Plain => Some(Cell::plain(written(metric, arm)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::{Figures, Time};

    #[test]
    fn a_count_or_rate_of_zero_is_nothing_and_a_measured_zero_is_something() {
        let mut figures = Figures::default();
        figures.times[Time::Overlap].count = 1;
        let is_nothing = |column| is_nothing(column, &Arm::of_figures(&figures));
        for metric in [
            Metric::Orders,
            Metric::LostUpdates,
            Metric::SoldPerSecond,
            Metric::TakeoverMax,
        ] {
            assert!(is_nothing(Column::Figure(metric)), "{metric:?}");
        }
        assert!(is_nothing(Column::FinishedAt) && is_nothing(Column::AfterTheEnd));
        assert!(
            !is_nothing(Column::Figure(Metric::OverlapMax)),
            "an overlap that took no time"
        );
    }
}
