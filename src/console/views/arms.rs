//! The table of arms. Columns give way in the order of their worth when the room is short.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders};

use super::excerpt::Excerpt;
use super::{Frames, line, mark_style};
use crate::console::ailment::Ailment;
use crate::console::app::App;
use crate::console::score::{Damage, Headline, Mark, Score};
use crate::console::text::{self, NONE};
use crate::console::theme::Theme;
use crate::metrics::{Metric, Unit};
use crate::report::{self, Arm, Cell, Column, Tone};
use crate::run::{ArmView, Phase, Snapshot};
use crate::scenario::WorkloadSpec;

/// A column; its figures stand at the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// One of the catalogue.
    Of(Column),
    /// A count of damage beside the score.
    Damage(Metric),
    /// The figure that the scenario is about.
    Score(Headline),
}

/// Counts that are worth a column only when there are any.
const EXTRAS: [Metric; 6] = [
    Metric::Errors,
    Metric::LocksLost,
    Metric::Fenced,
    Metric::Unknown,
    Metric::Expired,
    Metric::Late,
];

impl Shown {
    /// The column of the catalogue that has its title.
    const fn titled(self) -> Column {
        match self {
            Self::Of(column) => column,
            Self::Damage(metric) => Column::Figure(metric),
            Self::Score(headline) => Column::Figure(headline.metric()),
        }
    }

    /// The least width of its cells.
    fn least(self) -> usize {
        match self {
            Self::Of(Column::Figure(metric)) if metric.unit() == Unit::Micros => 7,
            Self::Damage(_) => 7,
            _ => 5,
        }
    }

    /// Whether it counts damage.
    const fn is_damage(self) -> bool {
        match self {
            Self::Of(_) => false,
            Self::Damage(_) => true,
            Self::Score(headline) => headline.metric().is_damage(),
        }
    }

    /// Whether it says what ended acquires and requests were like, which is not how an arm fares that is stuck.
    const fn is_of_the_ended(self) -> bool {
        let Self::Of(column) = self else { return false };
        !matches!(
            column,
            Column::Figure(Metric::Orders | Metric::StaleReads | Metric::GaveUp)
        )
    }

    /// Whether it is zero or nothing in every arm. That nothing gets done does say something.
    fn is_idle(self, arms: &[Arm<'_>], theme: &Theme) -> bool {
        let damage = Damage::default();
        let mut cells = arms.iter().map(|arm| self.cell(arm, &damage, theme).0);
        let is_rate = matches!(
            self,
            Self::Of(Column::ThroughputNow | Column::Figure(Metric::Throughput))
        );
        !is_rate && !arms.is_empty() && cells.all(|cell| cell == NONE || cell == "0")
    }

    fn cell(self, arm: &Arm<'_>, damage: &Damage, theme: &Theme) -> (String, Style) {
        let missing = || (NONE.to_owned(), theme.dim);
        match self {
            Self::Of(column) => report::cell(column, arm).map_or_else(missing, |cell| {
                let style = style_of(&cell, theme);
                (cell.text, style)
            }),
            Self::Damage(Metric::MissingPages) => damaged(damage.missing_pages, arm.figures.missing_pages, theme),
            Self::Damage(_) => damaged(damage.lost_updates, arm.figures.lost_updates, theme),
            Self::Score(headline) => arm.now.map_or_else(missing, |view| {
                let score = headline.score(view, damage);
                (score.cell(), mark_style(score.mark, theme))
            }),
        }
    }
}

/// What stands above the columns: the score in capitals.
fn heads(columns: &[Shown]) -> Vec<String> {
    let heads = report::heads(columns.iter().map(|column| column.titled()));
    let head = |(column, head): (&Shown, String)| match column {
        Shown::Score(_) => head.to_uppercase(),
        _ => head,
    };
    columns.iter().zip(heads).map(head).collect()
}

/// The width of each column.
fn widths(columns: &[Shown]) -> Vec<usize> {
    let width = |(column, head): (&Shown, String)| text::width(&head).max(column.least());
    columns.iter().zip(heads(columns)).map(width).collect()
}

fn style_of(cell: &Cell, theme: &Theme) -> Style {
    match cell.tone {
        Tone::Plain if cell.text == "0" => theme.dim,
        Tone::Plain => theme.base,
        Tone::Strong => theme.strong,
        Tone::Faint => theme.dim,
        Tone::Good => theme.good,
        Tone::Bad => theme.bad,
        Tone::Doubt => theme.warn,
    }
}

/// A count of damage beside the score: no praise for a zero.
fn damaged(proven: bool, count: u64, theme: &Theme) -> (String, Style) {
    if !proven {
        return ("0".to_owned(), theme.dim);
    }
    let score = Score {
        mark: Mark::Damage,
        value: text::count(count),
    };
    (score.cell(), theme.bad)
}

/// The columns of a workload in the order of the table, each with its rank: the highest goes first, damage and the score last.
/// Once the load is over its last seconds say nothing: the mean until the arm's finish does.
fn columns(workload: &WorkloadSpec, arms: &[Arm<'_>], is_over: bool) -> Vec<(Shown, u8)> {
    let figure = |metric, rank| (Shown::Of(Column::Figure(metric)), rank);
    let throughput = if is_over {
        Column::Figure(Metric::Throughput)
    } else {
        Column::ThroughputNow
    };
    let common = [
        figure(Metric::AcquireP50, 6),
        figure(Metric::AcquireP99, 2),
        (Shown::Of(throughput), 3),
        figure(Metric::Contended, 7),
        figure(Metric::NoQuorum, 4),
        (Shown::Of(Column::VotesNow), 5),
    ];
    let own = match workload {
        WorkloadSpec::Inventory(_) => vec![
            figure(Metric::Orders, 8),
            (Shown::Damage(Metric::LostUpdates), 1),
            (Shown::Score(Headline::Oversold), 0),
        ],
        WorkloadSpec::CacheFill(spec) if spec.caches.iter().any(|cache| cache.pages.is_some()) => vec![
            figure(Metric::GaveUp, 9),
            (Shown::Score(Headline::HitsPerExpiry), 8),
            (Shown::Damage(Metric::MissingPages), 1),
            (Shown::Score(Headline::DuplicatePages), 0),
        ],
        WorkloadSpec::CacheFill { .. } => vec![
            figure(Metric::StaleReads, 8),
            figure(Metric::GaveUp, 9),
            (Shown::Score(Headline::HitsPerExpiry), 0),
        ],
    };
    let occurs = |metric: &Metric| arms.iter().any(|arm| metric.of(arm.figures) > 0.0);
    let extras = EXTRAS.into_iter().filter(occurs).map(|metric| figure(metric, 7));
    common.into_iter().chain(extras).chain(own).collect()
}

/// The columns that fit beside the names, in the order of the table. Where some must go, those go first that say nothing of
/// any arm.
fn fitting(mut kept: Vec<(Shown, u8)>, arms: &[Arm<'_>], room: usize, theme: &Theme) -> Vec<Shown> {
    for (column, rank) in &mut kept {
        if !column.is_damage() && column.is_idle(arms, theme) {
            *rank += 10;
        }
    }
    let columns = |kept: &[(Shown, u8)]| kept.iter().map(|(column, _)| *column).collect::<Vec<_>>();
    let width = |kept: &[(Shown, u8)]| widths(&columns(kept)).iter().map(|width| width + 2).sum::<usize>();
    while width(&kept) > room && kept.len() > 1 {
        let least = kept
            .iter()
            .enumerate()
            .max_by_key(|(_, (_, rank))| *rank)
            .map_or(0, |(index, _)| index);
        kept.remove(least);
    }
    columns(&kept)
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let inside = framed(frame, area, frames, app, snapshot);
    let total = usize::from(inside.width);
    let longest = snapshot
        .arms
        .iter()
        .map(|arm| text::width(&arm.name))
        .max()
        .unwrap_or(0);
    let names = longest.clamp(6, if total >= 96 { 24 } else { 14 });
    let arms: Vec<Arm<'_>> = Arm::all_of_snapshot(snapshot).into_iter().map(Arm::narrow).collect();
    let is_over = matches!(snapshot.phase, Phase::Draining | Phase::Finished { .. });
    let columns = columns(&snapshot.scenario.workload, &arms, is_over);
    let columns = fitting(columns, &arms, total.saturating_sub(names + 3), theme);
    let mut widths = widths(&columns);
    let used: usize = names + 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    // Wide screens spread the columns, but not so far that a row can't be followed.
    let spare = (total.saturating_sub(used + 1) / columns.len().max(1)).min(6);
    for width in &mut widths {
        *width += 2 + spare;
    }
    let mut head = vec![Span::raw(text::left("  arm", names + 2))];
    let heads = heads(&columns).into_iter().zip(&widths);
    head.extend(heads.map(|(head, width)| Span::raw(text::right(&head, *width))));
    line(frame, inside, 0, Line::from(head).style(theme.dim));

    let excerpt = Excerpt::of(
        snapshot.arms.len(),
        usize::from(inside.height).saturating_sub(1),
        app.arm,
    );
    let mut row = 1;
    for (index, arm) in snapshot
        .arms
        .iter()
        .enumerate()
        .take(excerpt.shown.end)
        .skip(excerpt.shown.start)
    {
        let damage = app.damage(index);
        let charted = index == app.arm;
        let name_style = if charted { theme.strong } else { theme.base };
        let name = format!("{} {}", if charted { "›" } else { " " }, text::left(&arm.name, names));
        let mut spans = vec![Span::styled(name, name_style)];
        let mut first = 0;
        if let Some(ailment) = Ailment::of(arm, &snapshot.phase) {
            first = columns.iter().take_while(|column| column.is_of_the_ended()).count();
            let room: usize = widths[..first].iter().sum();
            let words = ailment.within(room.saturating_sub(2));
            spans.push(Span::styled(text::left(&format!("  {words}"), room), theme.warn));
        }
        for (column, width) in columns.iter().zip(&widths).skip(first) {
            let (cell, style) = column.cell(&arms[index], &damage, theme);
            spans.push(Span::raw(" ".repeat(width.saturating_sub(text::width(&cell)))));
            spans.push(Span::styled(text::fit(&cell, *width), style));
        }
        line(frame, inside, row, Line::from(spans));
        row += 1;
    }
    if let Some(more) = excerpt.more() {
        line(frame, inside, row, Line::styled(format!("  {more}"), theme.dim));
    }
}

fn framed(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) -> Rect {
    let theme = &app.theme;
    let borders = match frames {
        Frames::Boxed => Borders::ALL,
        Frames::Ruled => Borders::TOP,
        Frames::Bare => return area,
    };
    let title = " arms (same seed, same faults) ";
    let inventory = matches!(snapshot.scenario.workload, WorkloadSpec::Inventory(_));
    let pending = |(index, arm): (usize, &ArmView)| {
        arm.doubt.is_none() && Headline::Oversold.score(arm, &app.damage(index)).mark == Mark::Pending
    };
    let legend = if inventory && snapshot.arms.iter().enumerate().any(pending) {
        " … oversold not measurable until sold out "
    } else {
        ""
    };
    let block = Block::new()
        .borders(borders)
        .border_style(theme.dim)
        .title(Line::styled(title, theme.strong))
        .title(Line::styled(legend, theme.dim).right_aligned());
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::console::theme::ThemeName;
    use crate::metrics::{Count, Figures, Quantiles};
    use crate::scenario::{CacheFillSpec, InventorySpec, Popularity, ServiceTime, StockIn};

    fn an_arm(figures: &Figures) -> Arm<'_> {
        Arm {
            name: "",
            figures,
            sold_out: false,
            is_doubted: false,
            nodes: 3,
            locks: true,
            has_rate: true,
            after_end: 0,
            now: None,
            is_narrow: true,
        }
    }

    fn fitting(workload: &WorkloadSpec, arms: &[Arm<'_>], room: usize) -> Vec<Shown> {
        let columns = columns(workload, arms, false);
        super::fitting(columns, arms, room, &Theme::new(ThemeName::Dark, true))
    }

    const fn figure(metric: Metric) -> Shown {
        Shown::Of(Column::Figure(metric))
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
            orders: 9,
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
        // Everything else is zero and goes before what says something, and damage stays although it is zero.
        let kept = fitting(&workload, &[an_arm(&figures)], 76);
        let damage = [Shown::Damage(Metric::LostUpdates), Shown::Score(Headline::Oversold)];
        let now = Shown::Of(Column::ThroughputNow);
        let [p50, p99] = [Metric::AcquireP50, Metric::AcquireP99].map(figure);
        let [contended, orders] = [Metric::Contended, Metric::Orders].map(figure);
        assert_eq!(kept[..kept.len() - 2], [p50, p99, now, contended, orders]);
        assert_eq!(kept[kept.len() - 2..], damage);
        assert_eq!(fitting(&workload, &[an_arm(&Figures::default())], 24), damage);
    }

    #[test]
    fn a_count_that_is_rare_has_a_column_once_it_occurs() {
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        let mut figures = Figures::default();
        let fenced = figure(Metric::Fenced);
        assert!(!fitting(&workload, &[an_arm(&figures)], 500).contains(&fenced));
        figures.counts[Count::Fenced] = 1;
        assert!(fitting(&workload, &[an_arm(&figures)], 500).contains(&fenced));
    }

    #[test]
    fn the_score_is_the_last_to_go() {
        let workload = WorkloadSpec::CacheFill(CacheFillSpec { caches: Vec::new() });
        assert_eq!(fitting(&workload, &[], 0), [Shown::Score(Headline::HitsPerExpiry)]);
        assert_eq!(
            fitting(&workload, &[], 30),
            [figure(Metric::AcquireP99), Shown::Score(Headline::HitsPerExpiry)]
        );
        assert_eq!(fitting(&workload, &[], 500).len(), 9);
    }
}
