//! What panels are made of: frames, columns, rows, lines.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear};

use super::super::theme::Theme;
use crate::report::Tone;
use lockstorm_data::model::CheckResult;

/// What frame a panel has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// A box around it.
    Boxed,
    /// A rule above it.
    Ruled,
}

/// Draws the frame of a panel, with a title at the left and one at the right, and returns the area inside.
pub(super) fn panel(frame: &mut Frame<'_>, area: Rect, frames: Frames, titles: [Line<'_>; 2], theme: &Theme) -> Rect {
    let borders = match frames {
        Frames::Boxed => Borders::ALL,
        Frames::Ruled => Borders::TOP,
    };
    let [left, right] = titles;
    let block = Block::new().borders(borders).border_style(theme.dim);
    let block = block.title(left).title(right.right_aligned());
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// Draws a box around a panel and returns the area inside.
pub(super) fn boxed(frame: &mut Frame<'_>, area: Rect, title: &str, theme: &Theme) -> Rect {
    let title = Line::styled(title, theme.strong);
    panel(frame, area, Frames::Boxed, [title, Line::default()], theme)
}

/// Draws a box in the middle of the screen, which covers what is below it, and returns the area inside.
pub(super) fn dialog(frame: &mut Frame<'_>, area: Rect, [width, height]: [u16; 2], title: &str, theme: &Theme) -> Rect {
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
pub(super) fn columns(area: Rect, parts: usize) -> Vec<Rect> {
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
pub(super) fn rows(area: Rect, parts: usize) -> Vec<Rect> {
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
pub(super) fn share(length: u16, part: usize, parts: usize) -> u16 {
    u16::try_from(usize::from(length) * part / parts.max(1)).unwrap_or(length)
}

/// The area without a column at each side.
pub(super) fn padded(area: Rect) -> Rect {
    Rect {
        x: area.x + area.width.min(1),
        width: area.width.saturating_sub(2),
        ..area
    }
}

/// The style of a tone.
pub(super) const fn tone_style(tone: Tone, theme: &Theme) -> Style {
    match tone {
        Tone::Plain => theme.base,
        Tone::Strong => theme.strong,
        Tone::Faint => theme.dim,
        Tone::Good => theme.good,
        Tone::Bad => theme.bad,
        Tone::Doubt => theme.warn,
    }
}

/// The symbol of a prediction's result, and its style. One that held may have been of damage, so it is no praise; one that failed is no
/// damage.
pub(super) const fn sign_of(held: CheckResult, theme: &Theme) -> (&'static str, Style) {
    match held {
        CheckResult::Held => ("=", theme.base),
        CheckResult::Failed => ("≠", theme.warn),
        CheckResult::Inconclusive => ("?", theme.warn),
    }
}

/// The parts that fit into `columns` with a gap between each two; a part that doesn't fit is left out whole.
pub(super) fn fitting<'a>(
    parts: impl IntoIterator<Item = Vec<Span<'a>>>,
    columns: usize,
    gap: &'static str,
) -> Line<'a> {
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
