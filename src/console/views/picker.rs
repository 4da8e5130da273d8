//! The list of scenarios to choose from.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};

use super::briefing;
use super::parts::{boxed, padded};
use crate::console::app::App;
use crate::console::text;

/// From so many columns on there is room for what the selected scenario is about, beside the list.
const WIDE: u16 = 96;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let Some(picker) = &app.picker else { return };
    let [area, beside] = match area.width {
        ..WIDE => [area, Rect::default()],
        _ => Layout::horizontal([Constraint::Percentage(42), Constraint::Fill(1)]).areas(area),
    };
    if let Some((name, _)) = app.catalogue.get(picker.selected).filter(|_| !beside.is_empty()) {
        briefing::preview(frame, beside, app, name);
    }
    let inside = padded(boxed(frame, area, " choose a scenario ", theme));
    let error_rows = u16::from(picker.error.is_some()) * 2;
    let list = Rect {
        height: inside.height.saturating_sub(error_rows),
        ..inside
    };
    if app.catalogue.is_empty() {
        frame.render_widget(Line::styled("there are no scenarios here", theme.dim), list);
    }
    let names = text::widest(app.catalogue.iter().map(|(name, _)| name.as_str())).min(24);
    let rows = usize::from(list.height);
    let first = (picker.selected + 1).saturating_sub(rows);
    let room = usize::from(list.width).saturating_sub(names + 6);
    let shown = app.catalogue.iter().enumerate().skip(first);
    let lines = shown.map(|(index, (name, title))| {
        let (name, title) = (text::left(name, names), text::fit(title, room));
        if index == picker.selected {
            return Line::styled(format!("› {name}  {title} "), theme.selected);
        }
        let name = Span::styled(format!("  {name}"), theme.accent);
        Line::from(vec![name, Span::raw(format!("  {title}"))])
    });
    frame.render_widget(lines.collect::<Text<'_>>(), list);
    if let (Some(error), Some(last)) = (&picker.error, inside.rows().next_back()) {
        let words = text::fit(&format!("✖ {error}"), usize::from(inside.width));
        frame.render_widget(Line::styled(words, theme.warn), last);
    }
}
