//! Says that the terminal is too small, and which size is needed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

use crate::console::app::App;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, (columns, rows): (u16, u16)) {
    let size = format!("{}×{}: too small.", area.width, area.height);
    let text = Text::from(vec![
        Line::styled(size, app.theme.strong),
        Line::from(format!("lockstorm needs {columns}×{rows}.")),
        Line::styled("q quits", app.theme.dim),
    ]);
    let room = Rect {
        y: area.y + area.height.saturating_sub(3) / 2,
        ..area
    }
    .intersection(area);
    frame.render_widget(Paragraph::new(text).centered().wrap(Wrap { trim: true }), room);
}
