//! One large figure for each arm, for a room.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::digits::{self, Size};
use super::{columns, line, mark_style, rows};
use crate::console::app::App;
use crate::console::score::{Damage, Headline, Mark, Score, without_quorum};
use crate::console::text;
use crate::metrics::{ArmView, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let headline = Headline::of(&snapshot.scenario);
    let title = headline.name().to_uppercase();
    line(frame, area, 0, Line::styled(title, app.theme.strong).centered());
    let area = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    let scores: Vec<Score> = snapshot
        .arms
        .iter()
        .enumerate()
        .map(|(index, arm)| headline.score(arm, &app.damage(index)))
        .collect();
    let Some(grid) = Grid::of(&scores, area) else { return };
    for (row, first) in rows(area, grid.rows)
        .into_iter()
        .zip((0..scores.len()).step_by(grid.columns))
    {
        let cells = columns(row, grid.columns);
        for (cell, index) in cells.into_iter().zip(first..scores.len()) {
            tile(
                frame,
                cell,
                app,
                headline,
                &snapshot.arms[index],
                app.damage(index),
                &scores[index],
                &grid,
            );
        }
    }
}

/// How the tiles lie, and the size of the figures, the same in all so that they can be compared at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    columns: usize,
    rows: usize,
    size: Option<Size>,
    /// Whether the marks are drawn large too.
    marks: bool,
}

impl Grid {
    /// The grid with the largest figures; of equals one with room for the marks, then the one with the fewest columns.
    fn of(scores: &[Score], area: Rect) -> Option<Self> {
        let arms = scores.len();
        let values: Vec<&str> = scores.iter().map(|score| score.value.as_str()).collect();
        let marked: Vec<String> = scores.iter().map(large).collect();
        let grid = |columns: usize| {
            let rows = arms.div_ceil(columns);
            let width = (usize::from(area.width) / columns).saturating_sub(3);
            let height = (usize::from(area.height) / rows).saturating_sub(1);
            let [width, height] = [width, height].map(|cells| u16::try_from(cells).unwrap_or(u16::MAX));
            let size = digits::size(values.iter().copied(), width, height);
            let marks = size.is_some() && digits::size(marked.iter().map(String::as_str), width, height) == size;
            Self {
                columns,
                rows,
                size,
                marks,
            }
        };
        let worth = |grid: &Self| (grid.size.map(|[wide, high]| wide * high), grid.marks);
        (1..=arms).rev().map(grid).max_by_key(worth)
    }
}

/// The figure with its mark, if it says something.
fn large(score: &Score) -> String {
    match score.mark {
        Mark::Good | Mark::Poor | Mark::Damage => format!("{}{}", score.mark.symbol(), score.value),
        Mark::Pending | Mark::Missing | Mark::Notice => score.value.clone(),
    }
}

#[allow(clippy::too_many_arguments)] // everything about one arm
fn tile(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    headline: Headline,
    arm: &ArmView,
    damage: Damage,
    score: &Score,
    grid: &Grid,
) {
    let theme = &app.theme;
    let style = mark_style(score.mark, theme);
    let mut caption = vec![
        Span::styled(
            text::fit(&arm.name, usize::from(area.width).saturating_sub(2)),
            theme.strong,
        ),
        Span::raw("  "),
        Span::styled(score.cell(), style),
    ];
    let remark = match score.mark {
        Mark::Pending if headline == Headline::Oversold => "not sold out yet",
        Mark::Pending => "nothing to judge yet",
        _ if damage.any() && score.mark != Mark::Damage => "✖ damage",
        _ if without_quorum(arm) && headline == Headline::NoQuorum => "refusing now",
        _ if without_quorum(arm) => "no quorum",
        _ => "",
    };
    let remark_style = if remark.starts_with('✖') {
        theme.bad
    } else {
        theme.dim
    };
    caption.push(Span::styled(format!("  {remark}"), remark_style));
    let mut kept = usize::from(area.width);
    caption.retain(|span| {
        let fits = span.width() <= kept;
        kept = kept.saturating_sub(if fits { span.width() } else { 0 });
        fits
    });
    line(frame, area, 0, Line::from(caption).centered());
    let room = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    if let Some(size) = grid.size {
        let text = if grid.marks { large(score) } else { score.value.clone() };
        let style = if score.mark == Mark::Damage {
            theme.bad_block
        } else {
            style
        };
        digits::draw(frame.buffer_mut(), room, &text, size, style);
    }
}
