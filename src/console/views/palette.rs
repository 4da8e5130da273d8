//! The palette of faults.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::parts::dialog;
use crate::console::app::{App, Palette};
use crate::console::text;

/// The columns of what is done.
const WORDS: usize = 36;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, palette: &Palette) {
    let theme = &app.theme;
    let choices = app
        .newest
        .as_deref()
        .map(|newest| app.choices(newest))
        .unwrap_or_default();
    let width = area.width.saturating_sub(4).min(90);
    let inside = dialog(frame, area, [width, area.height.min(18)], "What is to happen?", theme);
    let rows = usize::from(inside.height).saturating_sub(1);
    let chosen = palette.chosen.min(choices.len().saturating_sub(1));
    let first = (chosen + 1).saturating_sub(rows);
    let mut lines = vec![Line::from(vec![
        Span::styled("> ", theme.accent),
        Span::styled(palette.typed.clone(), theme.strong),
        Span::styled("▏", theme.accent),
    ])];
    for (index, choice) in choices.iter().enumerate().skip(first).take(rows) {
        let words = text::left(&choice.words, WORDS);
        let rest = usize::from(inside.width).saturating_sub(WORDS + 4);
        let why = choice.refused.as_deref().unwrap_or(choice.key);
        let sign = if index == chosen { "› " } else { "  " };
        let style = match &choice.refused {
            _ if index == chosen => theme.selected,
            Some(_) => theme.dim,
            None => theme.base,
        };
        lines.push(Line::from(vec![
            Span::raw(sign),
            Span::styled(words, style),
            Span::styled(format!("  {}", text::fit(why, rest)), theme.dim),
        ]));
    }
    frame.render_widget(Text::from(lines), inside);
}
