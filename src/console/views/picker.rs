//! The list of scenarios to choose from.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::parts::{Frames, line, padded, panel};
use crate::console::app::App;
use crate::console::text;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let Some(picker) = &app.picker else { return };
    let inside = padded(panel(
        frame,
        area,
        Frames::Boxed,
        Line::styled(" choose a scenario ", theme.strong),
        theme,
    ));
    let error_rows = u16::from(picker.error.is_some()) * 2;
    let list = Rect {
        height: inside.height.saturating_sub(error_rows),
        ..inside
    };
    if app.catalogue.is_empty() {
        line(frame, list, 0, Line::styled("there are no scenarios here", theme.dim));
    }
    let names = app
        .catalogue
        .iter()
        .map(|(name, _)| text::width(name))
        .max()
        .unwrap_or(0)
        .min(24);
    let rows = usize::from(list.height);
    let first = (picker.selected + 1).saturating_sub(rows);
    for (row, (index, (name, title))) in (0..).zip(app.catalogue.iter().enumerate().skip(first).take(rows)) {
        let selected = index == picker.selected;
        let room = usize::from(list.width).saturating_sub(names + 6);
        let title = text::fit(title, room);
        let text = format!(
            "{} {}  {title} ",
            if selected { "›" } else { " " },
            text::left(name, names)
        );
        let styled = if selected {
            Line::styled(text, theme.selected)
        } else {
            let (name, title) = (text::left(name, names), title);
            Line::from(vec![
                Span::styled(format!("  {name}"), theme.accent),
                Span::raw(format!("  {title}")),
            ])
        };
        line(frame, list, row, styled);
    }
    if let Some(error) = &picker.error {
        let words = text::fit(&format!("✖ {error}"), usize::from(inside.width));
        line(
            frame,
            inside,
            inside.height.saturating_sub(1),
            Line::styled(words, theme.warn),
        );
    }
}
