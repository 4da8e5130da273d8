//! The table of arms. When space is short, the least important columns are left out.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use super::parts::{Frames, panel, tone_style};
use super::visible_rows::VisibleRows;
use crate::console::app::{App, Hit};
use crate::console::score::not_measurable;
use crate::console::stuck::Stuck;
use crate::console::text::{self, NONE};
use crate::console::theme::Theme;
use crate::report::{self, Arm, Tone};
use lockstorm_data::metrics::{Column, Metric, Unit};
use lockstorm_data::scenario::WorkloadSpec;
use lockstorm_run::{Phase, Snapshot};

/// A column, with right-aligned figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TableColumn {
    column: Column,
    /// When space is short, the highest rank goes first.
    rank: u8,
    /// Whether only this workload has it. Then it says how an arm does even while it is stuck; the other columns are about
    /// acquires and requests that ended.
    is_own: bool,
    /// Whether the workload is about it.
    is_headline: bool,
}

/// The columns of every workload.
const COMMON: [(Column, u8); 7] = [
    (Column::Figure(Metric::AcquireP50), 6),
    (Column::Figure(Metric::AcquireP99), 2),
    (Column::ThroughputNow, 3),
    (Column::Figure(Metric::Contended), 7),
    (Column::Figure(Metric::NoQuorum), 4),
    (Column::VotesNow, 5),
    (Column::Figure(Metric::DoubleHolds), 3),
];

/// Counts that get a column only if they are not zero, with their rank.
const EXTRAS: ([Metric; 8], u8) = (
    [
        Metric::LawViolations,
        Metric::Stalled,
        Metric::Errors,
        Metric::LocksLost,
        Metric::Fenced,
        Metric::Unknown,
        Metric::Expired,
        Metric::Late,
    ],
    7,
);

impl TableColumn {
    const fn new(column: Column, rank: u8) -> Self {
        Self {
            column,
            rank,
            is_own: false,
            is_headline: false,
        }
    }

    /// The smallest width of its cells.
    fn least(self) -> usize {
        match self.column {
            Column::Figure(metric) if metric.unit() == Unit::Micros => 7,
            Column::Figure(metric) if metric.is_damage() && !self.is_headline => 7,
            _ => 5,
        }
    }

    /// Whether it stays in the table even if it is zero in every arm: that there is no damage, or no throughput, is worth
    /// knowing.
    const fn is_worth_its_zeros(self) -> bool {
        match self.column {
            Column::Figure(metric) => {
                metric.is_damage() || self.is_headline || matches!(metric.unit(), Unit::PerSecond)
            }
            column => matches!(column, Column::ThroughputNow),
        }
    }

    /// Whether it is zero or empty in every arm.
    fn is_idle(self, arms: &[Arm<'_>]) -> bool {
        let is_nothing = |arm| report::is_nothing(self.column, arm);
        !self.is_worth_its_zeros() && !arms.is_empty() && arms.iter().all(is_nothing)
    }

    fn cell(self, arm: &Arm<'_>, theme: &Theme) -> (String, Style) {
        match report::cell(self.column, arm) {
            Some(cell) if cell.tone == Tone::Plain && report::is_nothing(self.column, arm) => (cell.text, theme.dim),
            Some(cell) => (cell.text, tone_style(cell.tone, theme)),
            None => (NONE.to_owned(), theme.dim),
        }
    }
}

/// The heads of the columns; the headline is in capitals.
fn heads(columns: &[TableColumn]) -> Vec<String> {
    let heads = report::heads(columns.iter().map(|shown| shown.column));
    let head = |(shown, head): (&TableColumn, String)| if shown.is_headline { head.to_uppercase() } else { head };
    columns.iter().zip(heads).map(head).collect()
}

/// The width of each column.
fn widths(columns: &[TableColumn]) -> Vec<usize> {
    let width = |(column, head): (&TableColumn, String)| text::width(&head).max(column.least());
    columns.iter().zip(heads(columns)).map(width).collect()
}

/// The columns of a workload, in the order of the table. After the load its last seconds say nothing, so the mean until
/// the arm's finish is shown instead: that of sales where there is a stock, since buyers who find nothing left are quick.
fn columns(workload: &WorkloadSpec, arms: &[Arm<'_>], is_over: bool) -> Vec<TableColumn> {
    let display = workload.about().display();
    let mean = if workload.about().sells() {
        Metric::SoldPerSecond
    } else {
        Metric::Throughput
    };
    // A workload may be judged by what all have.
    let is_own = |column: Column| display.console.iter().any(|(own, _)| column == Column::Figure(*own));
    let common = COMMON.into_iter().filter(|(column, _)| !is_own(*column));
    let common = common.map(|(column, rank)| match column {
        Column::ThroughputNow if is_over => TableColumn::new(Column::Figure(mean), rank),
        column => TableColumn::new(column, rank),
    });
    let (extras, rank) = EXTRAS;
    let occurs = |metric: &Metric| arms.iter().any(|arm| metric.of(arm.figures) > 0.0);
    let extras = extras
        .into_iter()
        .filter(occurs)
        .map(|metric| TableColumn::new(Column::Figure(metric), rank));
    let own = display.console.iter().map(|&(metric, rank)| TableColumn {
        is_own: true,
        is_headline: metric == display.headline(),
        ..TableColumn::new(Column::Figure(metric), rank)
    });
    common.chain(extras).chain(own).collect()
}

/// The columns that fit beside the names, in the order of the table. If some must go, columns that say nothing about any
/// arm go first.
fn fitting(mut kept: Vec<TableColumn>, arms: &[Arm<'_>], room: usize) -> Vec<TableColumn> {
    for column in &mut kept {
        if column.is_idle(arms) {
            column.rank += 10;
        }
    }
    let width = |kept: &[TableColumn]| widths(kept).iter().map(|width| width + 2).sum::<usize>();
    while width(&kept) > room && kept.len() > 1 {
        let least = (0..kept.len()).max_by_key(|index| kept[*index].rank);
        kept.remove(least.unwrap_or(0));
    }
    kept
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let arms: Vec<Arm<'_>> = Arm::all_of_snapshot(snapshot).into_iter().map(Arm::narrow).collect();
    let workload = &snapshot.scenario.workload;
    let legend = not_measurable(workload.about().display().headline(), &arms);
    let legend = legend.map_or_else(String::new, |what| format!(" … {what} "));
    let titles = [
        Line::styled(" arms (same seed, same faults) ", theme.strong),
        Line::styled(legend, theme.dim),
    ];
    let inside = panel(frame, area, frames, titles, theme);
    let total = usize::from(inside.width);
    let names = text::widest(arms.iter().map(|arm| arm.name)).clamp(6, if total >= 96 { 24 } else { 14 });
    let is_over = matches!(snapshot.phase, Phase::Draining | Phase::Finished { .. });
    let columns = columns(workload, &arms, is_over);
    let columns = fitting(columns, &arms, total.saturating_sub(names + 3));
    let mut widths = widths(&columns);
    let used: usize = names + 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    // Wide screens spread the columns, but only so far that the eye can follow a row.
    let spare = (total.saturating_sub(used + 1) / columns.len().max(1)).min(6);
    for width in &mut widths {
        *width += 2 + spare;
    }
    let mut head = vec![Span::raw(text::left("  arm", names + 2))];
    let heads = heads(&columns).into_iter().zip(&widths);
    head.extend(heads.map(|(head, width)| Span::raw(text::right(&head, *width))));
    let mut lines = vec![Line::from(head).style(theme.dim)];

    let room = usize::from(inside.height).saturating_sub(1);
    let visible = VisibleRows::of(arms.len(), room, app.arm);
    for index in visible.shown.clone() {
        let arm = &snapshot.arms[index];
        let y = inside.y + u16::try_from(lines.len()).unwrap_or(0);
        app.hits(Rect { y, height: 1, ..inside }, Hit::Arm(index));
        let charted = index == app.arm;
        let name_style = if charted { theme.strong } else { theme.base };
        let name = format!("{} {}", if charted { "›" } else { " " }, text::left(&arm.name, names));
        let mut spans = vec![Span::styled(name, name_style)];
        let mut first = 0;
        if let Some(stuck) = Stuck::of(arm, &snapshot.phase) {
            first = columns.iter().take_while(|column| !column.is_own).count();
            let room: usize = widths[..first].iter().sum();
            let words = stuck.within(room.saturating_sub(2));
            spans.push(Span::styled(text::left(&format!("  {words}"), room), theme.warn));
        }
        for (column, width) in columns.iter().zip(&widths).skip(first) {
            let (cell, style) = column.cell(&arms[index], theme);
            spans.push(Span::raw(" ".repeat(width.saturating_sub(text::width(&cell)))));
            spans.push(Span::styled(text::fit(&cell, *width), style));
        }
        lines.push(Line::from(spans));
    }
    lines.extend(visible.more("  ", theme));
    frame.render_widget(Text::from(lines), inside);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use lockstorm_data::metrics::Column::Figure;
    use lockstorm_data::metrics::{Count, Entry, Figures, Quantiles};
    use lockstorm_data::scenario::{CacheFillSpec, InventorySpec, PaymentSpec, Popularity, ServiceTime, StockIn};

    fn an_arm(figures: &Figures) -> Arm<'_> {
        Arm::of_figures(figures).narrow()
    }

    fn fitting(workload: &WorkloadSpec, arms: &[Arm<'_>], room: usize) -> Vec<Column> {
        let columns = columns(workload, arms, false);
        let fitting = super::fitting(columns, arms, room);
        fitting.iter().map(|shown| shown.column).collect()
    }

    #[test]
    fn damage_stays_while_columns_of_zeros_go() {
        let workload = WorkloadSpec::Inventory(InventorySpec {
            products: 1,
            stock: 1,
            popularity: Popularity::Uniform,
            hold: ServiceTime {
                median: Duration::ZERO,
                sigma: 0.0,
            },
            stock_in: StockIn::Database,
        });
        let mut figures = Figures {
            ledger: [(Entry::Orders, 9)].into(),
            ..Figures::default()
        };
        figures.outcomes.acquired = 9;
        figures.outcomes.contended = 7;
        figures.acquire_us = Quantiles {
            count: 16,
            p50: 400,
            p99: 900,
            ..Quantiles::default()
        };
        // Everything else is zero and goes first; damage stays although it is zero.
        let kept = fitting(&workload, &[an_arm(&figures)], 76);
        let damage = [Metric::LostUpdates, Metric::Oversold].map(Figure);
        let now = Column::ThroughputNow;
        let [p50, p99] = [Metric::AcquireP50, Metric::AcquireP99].map(Figure);
        let double_holds = Figure(Metric::DoubleHolds);
        assert_eq!(kept[..kept.len() - 2], [p50, p99, now, double_holds]);
        assert_eq!(kept[kept.len() - 2..], damage);
        assert_eq!(fitting(&workload, &[an_arm(&Figures::default())], 24), damage);
    }

    #[test]
    fn payments_sell_nothing() {
        let workload = WorkloadSpec::Payment(PaymentSpec {
            accounts: 2,
            money: 1,
            hold: ServiceTime::constant(Duration::from_millis(1)),
        });
        let over = columns(&workload, &[an_arm(&Figures::default())], true);
        let has = |metric| over.iter().any(|shown| shown.column == Figure(metric));
        assert!(has(Metric::Throughput) && !has(Metric::SoldPerSecond));
    }

    #[test]
    fn a_count_that_is_rare_has_a_column_once_it_occurs() {
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        let mut figures = Figures::default();
        let fenced = Figure(Metric::Fenced);
        assert!(!fitting(&workload, &[an_arm(&figures)], 500).contains(&fenced));
        figures.counts[Count::Fenced] = 1;
        assert!(fitting(&workload, &[an_arm(&figures)], 500).contains(&fenced));
    }

    #[test]
    fn the_score_is_the_last_to_go() {
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        assert_eq!(fitting(&workload, &[], 0), [Figure(Metric::DbHitsPerExpiry)]);
        assert_eq!(
            fitting(&workload, &[], 30),
            [Figure(Metric::AcquireP99), Figure(Metric::DbHitsPerExpiry)]
        );
        assert_eq!(fitting(&workload, &[], 500).len(), 10);
    }
}
