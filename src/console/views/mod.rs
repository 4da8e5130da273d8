//! The drawing: a file for each panel, with `render(frame, area, …)`. It never changes the state.

mod arms;
mod bars;
mod caption;
mod conditions;
mod dashboard;
mod digits;
mod events;
mod expectations;
mod failed;
mod footer;
mod header;
mod help;
mod hosts;
mod latency;
mod letters;
mod picker;
mod scoreboard;
mod servers;
mod set_up;
mod stopping;
mod strip;
mod summary;
mod timeline;
mod too_small;
mod ttls;
mod visible_rows;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear};

use super::app::{App, Overlay, Stage, View};
use super::ascii;
use super::theme::Theme;
use crate::model::CheckResult;
use crate::report::Mark;
use crate::run::Phase;

/// The smallest size at which anything is shown.
const LEAST: (u16, u16) = (60, 16);

/// Draws the whole screen.
pub fn render(frame: &mut Frame<'_>, app: &App) {
    screen(frame, app);
    if app.ascii {
        ascii::picture(frame.buffer_mut());
    }
}

fn screen(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    frame.buffer_mut().set_style(area, app.theme.base);
    app.scroll_most.set(0);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small::render(frame, area, app, LEAST);
        return;
    }
    let rows = [1, caption::height(app)].map(Constraint::Length);
    let [top, under, middle, bottom] =
        Layout::vertical([rows[0], rows[1], Constraint::Min(0), Constraint::Length(2)]).areas(area);
    header::render(frame, top, app);
    caption::render(frame, under, app);
    footer::render(frame, bottom, app);
    if app.picker.is_some() {
        picker::render(frame, middle, app);
    } else {
        run(frame, middle, app);
    }
    match app.overlay {
        Some(Overlay::Help) => help::render(frame, middle, app),
        Some(Overlay::Expectations) => expectations::render(frame, middle, app),
        Some(Overlay::Ttls) => ttls::render(frame, middle, app),
        None => {}
    }
    if let Stage::Stopping(then) = &app.stage {
        stopping::render(frame, middle, app, then);
    }
}

fn run(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let Some(snapshot) = app.picture() else {
        match &app.failure {
            Some(error) => failed::render(frame, area, &app.theme, error),
            None => set_up::render(frame, area, app, "starting"),
        }
        return;
    };
    match (&snapshot.phase, app.view) {
        (Phase::Failed(error), _) => failed::render(frame, area, &app.theme, error),
        // The run ended without a snapshot that says so.
        (phase, _) if app.failure.is_some() && !matches!(phase, Phase::Finished { .. }) && !app.is_frozen() => {
            failed::render(frame, area, &app.theme, app.failure.as_deref().unwrap_or_default());
        }
        (Phase::SetUp(what), _) => set_up::render(frame, area, app, what),
        (_, View::Scoreboard) => scoreboard::render(frame, area, app, snapshot),
        (_, View::Events) => events::render_all(frame, area, app, snapshot),
        (
            Phase::Finished {
                interrupted,
                expectations,
            },
            View::Summary,
        ) => {
            summary::render(frame, area, app, snapshot, *interrupted, expectations);
        }
        (_, View::Dashboard | View::Summary) => dashboard::render(frame, area, app, snapshot),
    }
}

/// What frame a panel has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frames {
    /// A box around it.
    Boxed,
    /// A rule above it.
    Ruled,
    /// No frame.
    Bare,
}

/// Draws the frame of a panel and returns the area inside.
fn panel(frame: &mut Frame<'_>, area: Rect, frames: Frames, title: Line<'_>, theme: &Theme) -> Rect {
    let borders = match frames {
        Frames::Boxed => Borders::ALL,
        Frames::Ruled => Borders::TOP,
        Frames::Bare => return area,
    };
    let block = Block::new().borders(borders).border_style(theme.dim).title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// Draws a box in the middle of the screen, which covers what is below it, and returns the area inside.
fn dialog(frame: &mut Frame<'_>, area: Rect, [width, height]: [u16; 2], title: &str, theme: &Theme) -> Rect {
    let area = area.centered(
        Constraint::Length(width.min(area.width)),
        Constraint::Length(height.min(area.height)),
    );
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_style(theme.accent)
        .style(theme.base)
        .title(Line::styled(format!(" {title} "), theme.strong));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    padded(inside)
}

/// The columns of an area, cut into equal parts. (A constraint solver takes seconds for dozens of parts.)
fn columns(area: Rect, parts: usize) -> Vec<Rect> {
    let cut = |part: usize| area.x + share(area.width, part, parts);
    (0..parts)
        .map(|part| Rect {
            x: cut(part),
            width: cut(part + 1) - cut(part),
            ..area
        })
        .collect()
}

/// The rows of an area, cut into equal parts.
fn rows(area: Rect, parts: usize) -> Vec<Rect> {
    let cut = |part: usize| area.y + share(area.height, part, parts);
    (0..parts)
        .map(|part| Rect {
            y: cut(part),
            height: cut(part + 1) - cut(part),
            ..area
        })
        .collect()
}

/// Where part number `part` of `parts` starts on a length.
fn share(length: u16, part: usize, parts: usize) -> u16 {
    u16::try_from(usize::from(length) * part / parts.max(1)).unwrap_or(length)
}

/// The same area without a column at each side.
fn padded(area: Rect) -> Rect {
    Rect {
        x: area.x + area.width.min(1),
        width: area.width.saturating_sub(2),
        ..area
    }
}

/// Draws a line of text in a row of an area.
fn line(frame: &mut Frame<'_>, area: Rect, row: u16, text: Line<'_>) {
    if row < area.height {
        frame.render_widget(
            text,
            Rect {
                y: area.y + row,
                height: 1,
                ..area
            },
        );
    }
}

/// The style of a mark.
const fn mark_style(mark: Mark, theme: &Theme) -> Style {
    match mark {
        Mark::Plain => theme.base,
        Mark::Good => theme.good,
        Mark::Pending | Mark::Missing => theme.dim,
        Mark::Poor | Mark::Notice => theme.warn,
        Mark::Damage => theme.bad,
    }
}

/// The symbol of an expectation's result, and its style. A failed expectation is not damage.
const fn sign_of(held: CheckResult, theme: &Theme) -> (&'static str, Style) {
    match held {
        CheckResult::Held => ("✔", theme.good),
        CheckResult::Failed => ("✖", theme.warn),
        CheckResult::Inconclusive => ("?", theme.warn),
    }
}

/// The parts that fit into `columns` with a gap between each two; a part that doesn't fit is left out whole.
fn fitting<'a>(parts: impl IntoIterator<Item = Vec<Span<'a>>>, columns: usize, gap: &'static str) -> Line<'a> {
    let mut spans = Vec::new();
    let mut used = 0;
    for part in parts {
        let width: usize = part.iter().map(Span::width).sum();
        let gap_width = if spans.is_empty() { 0 } else { gap.chars().count() };
        if width == 0 || used + gap_width + width > columns {
            continue;
        }
        if !spans.is_empty() {
            spans.push(Span::raw(gap));
        }
        spans.extend(part);
        used += gap_width + width;
    }
    Line::from(spans)
}
