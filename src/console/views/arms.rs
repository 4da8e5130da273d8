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
use crate::metrics::{ArmView, Phase, Snapshot};
use crate::scenario::{Metric, WorkloadSpec};

/// A column; its figures stand at the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    P50,
    P99,
    Rate,
    Contended,
    NoQuorum,
    Votes,
    Orders,
    Stale,
    GaveUp,
    LostUpdates,
    MissingPages,
    /// A count that is only shown when some arm has it.
    Extra(Metric),
    Score(Headline),
}

/// Counts that are worth a column only when there are any.
const EXTRAS: [(Metric, &str); 6] = [
    (Metric::Errors, "errors"),
    (Metric::LocksLost, "locks lost"),
    (Metric::Fenced, "fenced"),
    (Metric::Unknown, "unknown"),
    (Metric::Expired, "expired"),
    (Metric::Late, "late"),
];

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            // While it runs, and the longer of its two titles.
            Self::Rate => "done/s 5 s",
            Self::Contended => "contended",
            Self::NoQuorum => "no quorum",
            Self::Votes => "votes",
            Self::Orders => "orders",
            Self::Stale => "stale",
            Self::GaveUp => "gave up",
            Self::LostUpdates => "lost updates",
            Self::MissingPages => "MISSING",
            Self::Extra(metric) => extra_title(metric),
            Self::Score(Headline::HitsPerExpiry) => "DB HITS/EXPIRY",
            Self::Score(Headline::DuplicatePages) => "DUP. PAGES",
            Self::Score(Headline::RefusedSeconds) => "REFUSED s",
            Self::Score(_) => "OVERSOLD",
        }
    }

    fn width(self) -> usize {
        self.title().len().max(match self {
            Self::P50 | Self::P99 | Self::MissingPages => 7,
            _ => 5,
        })
    }

    /// Whether it counts damage.
    const fn is_damage(self) -> bool {
        matches!(
            self,
            Self::LostUpdates
                | Self::MissingPages
                | Self::Score(Headline::Oversold | Headline::LostUpdates | Headline::DuplicatePages)
        )
    }

    /// Whether it says what ended acquires and requests were like, which is not how an arm fares that is stuck.
    const fn is_of_the_ended(self) -> bool {
        matches!(
            self,
            Self::P50 | Self::P99 | Self::Rate | Self::Contended | Self::NoQuorum | Self::Votes | Self::Extra(_)
        )
    }

    /// Whether it is zero or nothing in every arm. That nothing gets done does say something.
    fn is_idle(self, arms: &[ArmView], theme: &Theme) -> bool {
        let damage = Damage::default();
        let mut cells = arms.iter().map(|arm| self.cell(arm, &damage, false, theme).0);
        self != Self::Rate && !arms.is_empty() && cells.all(|cell| cell == NONE || cell == "0")
    }

    fn cell(self, arm: &ArmView, damage: &Damage, over: bool, theme: &Theme) -> (String, Style) {
        let figures = &arm.figures;
        let asked = figures.outcomes.total() > 0;
        let plain = |text: String| {
            let style = if text == NONE || text == "0" {
                theme.dim
            } else {
                theme.base
            };
            (text, style)
        };
        let of_lock = |n: u64| plain(if asked { text::count(n) } else { NONE.to_owned() });
        match self {
            Self::P50 => plain(text::micros(figures.acquire_us.p50)),
            Self::P99 => plain(text::micros(figures.acquire_us.p99)),
            Self::Rate if over => plain(text::rate(figures.throughput.round())),
            Self::Rate if arm.done => ("done".to_owned(), theme.dim),
            Self::Rate => plain(text::rate(arm.live.per_second.round())),
            Self::Contended => of_lock(figures.outcomes.contended),
            Self::NoQuorum if figures.outcomes.no_quorum > 0 => (text::count(figures.outcomes.no_quorum), theme.warn),
            Self::NoQuorum => of_lock(0),
            Self::Votes => match arm.votes {
                None => plain(NONE.to_owned()),
                Some((votes, nodes)) if votes < nodes => (format!("{votes}/{nodes}"), theme.warn),
                Some((votes, nodes)) => plain(format!("{votes}/{nodes}")),
            },
            Self::Orders if figures.incomplete => (format!("≥ {}", text::count(figures.orders)), theme.warn),
            Self::Orders => plain(text::count(figures.orders)),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a count
            Self::Extra(metric) => match figures.get(metric) as u64 {
                0 => plain("0".to_owned()),
                some => (text::count(some), theme.warn),
            },
            Self::Stale => plain(text::count(figures.stale_reads)),
            Self::GaveUp => plain(text::count(figures.gave_up)),
            Self::LostUpdates => damaged(damage.lost_updates, figures.lost_updates, theme),
            Self::MissingPages => damaged(damage.missing_pages, figures.missing_pages, theme),
            Self::Score(headline) => {
                let score = headline.score(arm, damage);
                (score.cell(), mark_style(score.mark, theme))
            }
        }
    }
}

fn extra_title(metric: Metric) -> &'static str {
    EXTRAS
        .iter()
        .find(|(extra, _)| *extra == metric)
        .map_or("", |(_, title)| title)
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
fn columns(workload: &WorkloadSpec, arms: &[ArmView]) -> Vec<(Column, u8)> {
    use Column::{Contended, GaveUp, LostUpdates, MissingPages, NoQuorum, Orders, P50, P99, Rate, Stale, Votes};
    let common = [(P50, 6), (P99, 2), (Rate, 3), (Contended, 7), (NoQuorum, 4), (Votes, 5)];
    let own = match workload {
        WorkloadSpec::Inventory(_) => vec![(Orders, 8), (LostUpdates, 1), (Column::Score(Headline::Oversold), 0)],
        WorkloadSpec::CacheFill { caches } if caches.iter().any(|cache| cache.pages.is_some()) => vec![
            (GaveUp, 9),
            (Column::Score(Headline::HitsPerExpiry), 8),
            (MissingPages, 1),
            (Column::Score(Headline::DuplicatePages), 0),
        ],
        WorkloadSpec::CacheFill { .. } => {
            vec![(Stale, 8), (GaveUp, 9), (Column::Score(Headline::HitsPerExpiry), 0)]
        }
    };
    let occurs = |metric: Metric| arms.iter().any(|arm| arm.figures.get(metric) > 0.0);
    let extras = EXTRAS
        .iter()
        .filter(|(metric, _)| occurs(*metric))
        .map(|(metric, _)| (Column::Extra(*metric), 7));
    common.into_iter().chain(extras).chain(own).collect()
}

/// The columns that fit beside the names, in the order of the table. Where some must go, those go first that say nothing of
/// any arm.
fn fitting(workload: &WorkloadSpec, arms: &[ArmView], room: usize, theme: &Theme) -> Vec<Column> {
    let mut kept = columns(workload, arms);
    for (column, rank) in &mut kept {
        if !column.is_damage() && column.is_idle(arms, theme) {
            *rank += 10;
        }
    }
    let width = |kept: &[(Column, u8)]| kept.iter().map(|(column, _)| column.width() + 2).sum::<usize>();
    while width(&kept) > room && kept.len() > 1 {
        let least = kept
            .iter()
            .enumerate()
            .max_by_key(|(_, (_, rank))| *rank)
            .map_or(0, |(index, _)| index);
        kept.remove(least);
    }
    kept.into_iter().map(|(column, _)| column).collect()
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
    let columns = fitting(
        &snapshot.scenario.workload,
        &snapshot.arms,
        total.saturating_sub(names + 3),
        theme,
    );
    let used: usize = names + 2 + columns.iter().map(|column| column.width() + 2).sum::<usize>();
    // Wide screens spread the columns, but not so far that a row can't be followed.
    let spare = (total.saturating_sub(used + 1) / columns.len().max(1)).min(6);
    let width = |column: &Column| column.width() + 2 + spare;

    // Once the load has ended its last seconds say nothing: the mean until the arm's finish does.
    let over = matches!(snapshot.phase, Phase::Draining | Phase::Finished { .. });
    let mut head = vec![Span::raw(text::left("  arm", names + 2))];
    head.extend(
        columns
            .iter()
            .map(|column| Span::raw(text::right(head_of(*column, over), width(column)))),
    );
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
        let mut rest = columns.as_slice();
        if let Some(ailment) = Ailment::of(arm, &snapshot.phase) {
            let figures = rest.iter().take_while(|column| column.is_of_the_ended()).count();
            let room: usize = rest[..figures].iter().map(width).sum();
            let words = ailment.within(room.saturating_sub(2));
            spans.push(Span::styled(text::left(&format!("  {words}"), room), theme.warn));
            rest = &rest[figures..];
        }
        for column in rest {
            let (cell, style) = column.cell(arm, &damage, over, theme);
            let width = width(column);
            spans.push(Span::raw(" ".repeat(width.saturating_sub(text::width(&cell)))));
            spans.push(Span::styled(text::fit(&cell, width), style));
        }
        line(frame, inside, row, Line::from(spans));
        row += 1;
    }
    if let Some(more) = excerpt.more() {
        line(frame, inside, row, Line::styled(format!("  {more}"), theme.dim));
    }
}

/// The title of a column, now.
fn head_of(column: Column, over: bool) -> &'static str {
    match column {
        Column::Rate if over => "done/s",
        column => column.title(),
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
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::console::theme::ThemeName;
    use crate::metrics::{Figures, Live};
    use crate::scenario::{InventorySpec, Popularity, ServiceTime, StockIn};

    fn an_arm() -> ArmView {
        ArmView {
            name: String::new(),
            label: String::new(),
            figures: Figures::default(),
            series: Arc::default(),
            trace: Arc::default(),
            votes: None,
            trouble: None,
            sold_out: false,
            done: false,
            finish: None,
            live: Live::default(),
            doubt: None,
        }
    }

    fn fitting(workload: &WorkloadSpec, arms: &[ArmView], room: usize) -> Vec<Column> {
        super::fitting(workload, arms, room, &Theme::new(ThemeName::Dark, true))
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
        let mut arm = an_arm();
        arm.figures.outcomes.acquired = 9;
        arm.figures.outcomes.contended = 7;
        arm.figures.orders = 9;
        arm.figures.acquire_us.p99 = 900;
        // Everything else is zero and goes before what says something, and damage stays although it is zero.
        let kept = fitting(&workload, &[arm], 64);
        let damage = [Column::LostUpdates, Column::Score(Headline::Oversold)];
        assert_eq!(
            kept[..4],
            [Column::P99, Column::Rate, Column::Contended, Column::Orders]
        );
        assert_eq!(kept[kept.len() - 2..], damage);
        assert_eq!(fitting(&workload, &[an_arm()], 24), damage);
    }

    #[test]
    fn a_count_that_is_rare_has_a_column_once_it_occurs() {
        let workload = WorkloadSpec::CacheFill { caches: Vec::new() };
        let mut arm = an_arm();
        let fenced = Column::Extra(Metric::Fenced);
        assert!(!fitting(&workload, &[arm.clone()], 500).contains(&fenced));
        arm.figures.fenced = 1;
        assert!(fitting(&workload, &[arm], 500).contains(&fenced));
        assert_eq!(fenced.title(), "fenced");
    }

    #[test]
    fn the_score_is_the_last_to_go() {
        let workload = WorkloadSpec::CacheFill { caches: Vec::new() };
        assert_eq!(fitting(&workload, &[], 0), [Column::Score(Headline::HitsPerExpiry)]);
        assert_eq!(
            fitting(&workload, &[], 30),
            [Column::P99, Column::Score(Headline::HitsPerExpiry)]
        );
        assert_eq!(fitting(&workload, &[], 500).len(), 9);
    }
}
