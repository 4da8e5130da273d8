//! A run that failed: why, and what to do now.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::parts::{boxed, padded};
use crate::console::theme::Theme;
use lockstorm_data::model::printable;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, theme: &Theme, error: &str) {
    let inside = padded(boxed(frame, area, " the run failed ", theme));
    let mut lines: Vec<Line<'_>> = vec![Line::default()];
    lines.extend(error.lines().map(|text| Line::styled(printable(text), theme.warn)));
    lines.push(Line::default());
    lines.push(Line::styled("What to do now", theme.accent));
    lines.extend(["  R  try the same again", "  o  choose another scenario", "  q  quit"].map(Line::from));
    frame.render_widget(Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false }), inside);
}
