//! One large figure for each arm, readable across a room, with the faults on the hosts above.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders};

use super::digits::{self, Size};
use super::parts::{columns, fitting, rows, tone_style};
use super::visible_rows::VisibleRows;
use super::{letters, strip};
use crate::console::app::App;
use crate::console::score::{Score, is_damaged, without_quorum};
use crate::console::stuck::Stuck;
use crate::console::text;
use crate::report::{Arm, headline, sign};
use lockstorm_data::metrics::Metric;
use lockstorm_run::{ArmView, Snapshot};

/// The smallest width of a tile.
const NARROWEST: u16 = 20;
/// The columns between two tiles: the rule, and a free column at each side.
const GAP: u16 = 3;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let headline = headline(&snapshot.scenario);
    let arms: Vec<Arm<'_>> = Arm::all_of_snapshot(snapshot).into_iter().map(Arm::narrow).collect();
    let heights = [Constraint::Length(strip::height(area)), Constraint::Min(0)];
    let [above, area] = Layout::vertical(heights).areas(area);
    let capacity = usize::from((area.width / NARROWEST).max(1)) * usize::from(area.height);
    let visible = VisibleRows::of(snapshot.arms.len(), capacity, app.arm);
    let tiles: Vec<Tile<'_>> = visible
        .shown
        .clone()
        .filter_map(|index| Some(Tile::of(headline, arms.get(index)?, snapshot.arms.get(index)?)))
        .collect();
    strip::render(frame, above, app, snapshot, &title(headline, &tiles));
    let more = visible.more("", &app.theme);
    let Some(grid) = Grid::of(&tiles, tiles.len() + usize::from(more.is_some()), area, app.ascii) else {
        return;
    };
    let cells = rows(area, grid.rows)
        .into_iter()
        .flat_map(|row| columns(row, grid.columns).into_iter().enumerate());
    let mut tiles = tiles.iter();
    // A rule at the left of a tile, so that two figures don't read as one.
    let rule = Block::new().borders(Borders::LEFT).border_style(app.theme.dim);
    for (column, cell) in cells {
        if column > 0 {
            frame.render_widget(&rule, cell);
        }
        let cell = rule.inner(cell);
        match (tiles.next(), &more) {
            (Some(tile), _) => tile.render(frame, cell, app, snapshot, &grid),
            (None, Some(more)) => {
                frame.render_widget(more.clone().centered(), cell);
                break;
            }
            (None, None) => break,
        }
    }
}

/// What the figures count. These are two things if some stocks are sold out and others are not.
fn title(headline: Metric, tiles: &[Tile<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for tile in tiles {
        if !names.contains(&tile.headline.title()) {
            names.push(tile.headline.title());
        }
    }
    if names.is_empty() {
        names.push(headline.title());
    }
    names.join(" · ")
}

/// The layout of the tiles, and the size of the figures, which is the same for all so that they can be compared at a
/// glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    columns: usize,
    rows: usize,
    size: Option<Size>,
    /// Whether the names are drawn large.
    names: bool,
    /// Whether the marks are drawn large too.
    marks: bool,
}

impl Grid {
    /// The grid with large names and the largest possible figures; among equals the one with room for the marks, then the
    /// one with the fewest columns.
    fn of(tiles: &[Tile<'_>], count: usize, area: Rect, ascii: bool) -> Option<Self> {
        let marked: Vec<String> = tiles.iter().map(|tile| large(&tile.score)).collect();
        // Letters are drawn with half blocks, which ASCII does not have.
        let widest = if ascii {
            None
        } else {
            tiles.iter().map(|tile| letters::width(&tile.arm.name)).max()
        };
        let lettered = tiles.iter().all(|tile| letters::width(&tile.arm.name).is_some());
        let grid = |columns: usize, names: bool| {
            let rows = count.div_ceil(columns);
            let cells = |length: u16, parts: usize| u16::try_from(usize::from(length) / parts).unwrap_or(length);
            let width = cells(area.width, columns).saturating_sub(GAP);
            let height = cells(area.height, rows);
            if names && !(lettered && widest.flatten().is_some_and(|widest| widest <= width)) {
                return None;
            }
            if height == 0 || columns > 1 && width + GAP < NARROWEST {
                return None;
            }
            let height = height.saturating_sub(1 + if names { letters::ROWS + 1 } else { 0 });
            let values = tiles.iter().map(|tile| tile.score.value.as_str());
            let size = digits::size(values, width, height);
            let marks = size.is_some() && digits::size(marked.iter().map(String::as_str), width, height) == size;
            // Names without a figure are not worth their space.
            (size.is_some() || !names).then_some(Self {
                columns,
                rows,
                size,
                names,
                marks,
            })
        };
        let worth = |grid: &Self| (grid.names, grid.size.map(|[wide, high]| wide * high), grid.marks);
        let both = |columns| [grid(columns, false), grid(columns, true)];
        (1..=count).rev().flat_map(both).flatten().max_by_key(worth)
    }
}

/// The figure with its mark, if it is meaningful.
fn large(score: &Score) -> String {
    let (mark, (_, symbol)) = (score.mark, sign(score.mark));
    match mark.is_damage() || mark.is_poor() || mark.is_good() {
        true => format!("{symbol}{}", score.value),
        false => score.value.clone(),
    }
}

/// The tile of an arm.
struct Tile<'a> {
    arm: &'a ArmView,
    headline: Metric,
    score: Score,
    /// Whether nothing good can be said of the arm.
    is_doubted: bool,
    /// Whether it has other damage than the figure counts.
    more_damage: bool,
}

impl<'a> Tile<'a> {
    fn of(headline: Metric, arm: &Arm<'_>, view: &'a ArmView) -> Self {
        let headline = headline.telling(arm.figures);
        let score = Score::of(headline, arm);
        Self {
            arm: view,
            headline,
            is_doubted: arm.is_doubted(),
            more_damage: is_damaged(arm.figures) && !score.mark.is_damage(),
            score,
        }
    }

    fn render(&self, frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, grid: &Grid) {
        let theme = &app.theme;
        let mut room = area;
        let take = |room: &mut Rect, height: u16| {
            let height = height.min(room.height);
            let taken = Rect { height, ..*room };
            room.y += height;
            room.height -= height;
            taken
        };
        if grid.names {
            let name = take(&mut room, letters::ROWS + 1);
            letters::draw(frame.buffer_mut(), name, &self.arm.name, theme.strong);
        }
        let caption = take(&mut room, 1);
        let words = self.caption(app, snapshot, usize::from(area.width), grid);
        frame.render_widget(words.centered(), caption);
        if let Some(size) = grid.size {
            let value = if grid.marks {
                large(&self.score)
            } else {
                self.score.value.clone()
            };
            let style = match self.score.mark.is_damage() {
                true => theme.bad_block,
                false => tone_style(self.score.tone(), theme),
            };
            digits::draw(frame.buffer_mut(), room, &value, size, style);
        }
    }

    /// The name unless it is drawn large, the figure, and further facts. What doesn't fit is left out; the figure goes
    /// first if it is drawn large with its mark.
    fn caption(&self, app: &App, snapshot: &Snapshot, columns: usize, grid: &Grid) -> Line<'static> {
        let theme = &app.theme;
        let stuck = Stuck::of(self.arm, &snapshot.phase);
        let name = if grid.names { "" } else { self.arm.name.as_str() };
        let mut cell = self.score.cell();
        let state = stuck.as_ref().map_or(0, |stuck| 2 + stuck.least());
        if state > 0 && grid.marks && text::width(name) + 2 + text::width(&cell) + state > columns {
            cell.clear();
        }
        let name = text::fit(name, columns.saturating_sub(text::width(&cell) + 2 + state).max(4));
        let mut parts = vec![vec![Span::styled(name, theme.strong)]];
        let used = |parts: &[Vec<Span<'_>>]| -> usize {
            let widths = parts.iter().map(|part| part.iter().map(Span::width).sum::<usize>());
            widths.filter(|width| *width > 0).map(|width| width + 2).sum()
        };
        let has_cell = !cell.is_empty();
        parts.push(vec![Span::styled(cell, tone_style(self.score.tone(), theme))]);
        if let Some(stuck) = stuck {
            let words = stuck.within(columns.saturating_sub(used(&parts)));
            parts.push(vec![Span::styled(words, theme.warn)]);
        } else if without_quorum(self.arm) {
            let refusing = self.headline == Metric::RefusedSeconds;
            let words = if refusing { "refusing now" } else { "no quorum" };
            parts.push(vec![Span::styled(words, theme.warn)]);
        }
        if self.more_damage {
            parts.push(vec![Span::styled("✖ damage", theme.bad)]);
        }
        let unit = match self.score.mark.is_open() {
            true if self.is_doubted => "inconclusive",
            true => "nothing to judge yet",
            false => self.headline.title(),
        };
        // The unit comes after its figure.
        if has_cell && used(&parts) + text::width(unit) <= columns {
            parts[1].push(Span::styled(format!(" {unit}"), theme.dim));
        }
        fitting(parts, columns, "  ")
    }
}
