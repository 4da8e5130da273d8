//! The app servers, in one line.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::conditions::{state, why};
use crate::console::app::{App, Hit};
use crate::console::text;
use lockstorm_data::model::Target;
use lockstorm_run::Snapshot;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let mut spans = vec![Span::styled(" app servers ", theme.dim)];
    let mut used = 13;
    // The selected one stays in sight.
    let fit = usize::from(area.width).saturating_sub(30) / 8;
    let first = match app.selected {
        Target::Server(id) => (id.index() + 1).saturating_sub(fit.max(1)),
        Target::Host(_) | Target::Link(_) | Target::Client(_) => 0,
    };
    for (index, server) in snapshot.servers.iter().enumerate().skip(first) {
        // One that is up needs no words.
        let (symbol, words, mut style) = state(&server.conditions, "", theme);
        let why = why(&server.conditions).unwrap_or_default();
        let mut state = format!("{symbol} {words} {why}").trim_end().to_owned();
        if let Some(broken) = server.broken_clients() {
            let (_, words, warn) = self::state(broken, "", theme);
            (state, style) = (format!("{state} client {words}"), warn);
        }
        let number = if app.digits_pick_servers {
            format!("[{}]", server.id.0)
        } else {
            format!(" {} ", server.id.0)
        };
        let left = snapshot.servers.len() - index;
        let width = number.len() + text::width(&state) + 2;
        // The last columns say how many more there are.
        let kept_free = if left > 1 { 8 } else { 0 };
        if used + width + kept_free > usize::from(area.width) {
            spans.push(Span::styled(format!("+{left} more"), theme.dim));
            break;
        }
        let room = Rect {
            x: area.x + u16::try_from(used).unwrap_or(0),
            width: u16::try_from(width).unwrap_or(0),
            ..area
        };
        app.hits(room.intersection(area), Hit::Target(Target::Server(server.id)));
        used += width;
        spans.push(Span::styled(number, app.name_style(Target::Server(server.id))));
        spans.push(Span::styled(format!("{state}  "), style));
    }
    frame.render_widget(Line::from(spans), area);
}
