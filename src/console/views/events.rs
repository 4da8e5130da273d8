//! The event log, newest first, with the console's own notes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use super::parts::boxed;
use crate::console::app::App;
use crate::console::text;
use crate::console::theme::Theme;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_run::Snapshot;

/// The columns before the text of an event: its time and its symbol.
const INDENT: usize = 11;

/// A row of the log.
struct Entry {
    at: f64,
    symbol: char,
    style: Style,
    words: String,
}

impl Entry {
    /// Its lines: the first with time and symbol, the others indented to the text.
    fn lines(&self, words: impl IntoIterator<Item = String>, theme: &Theme) -> Vec<Line<'static>> {
        let line = |(index, words): (usize, String)| {
            if index > 0 {
                let indent = Span::raw(" ".repeat(INDENT));
                return Line::from(vec![indent, Span::styled(words, self.style)]);
            }
            Line::from(vec![
                Span::styled(format!("{:>8} ", format!("{:.1}s", self.at)), theme.dim),
                Span::styled(self.symbol.to_string(), self.style),
                Span::styled(format!(" {words}"), self.style),
            ])
        };
        words.into_iter().enumerate().map(line).collect()
    }
}

/// The view of all events with their full texts, which scrolls.
pub(super) fn render_all(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let total = snapshot.events.len() + app.notes.len();
    let shown: Vec<Entry> = entries(app, snapshot)
        .filter(|entry| app.lets_through(&entry.words))
        .collect();
    let title = match (app.typing_filter, app.filter.as_str()) {
        (false, "") => format!(" events: {total}, newest first "),
        (true, typed) => format!(
            " events with: {typed}▏ {} of {total} (Enter keeps it, Esc: all) ",
            shown.len()
        ),
        (false, typed) => format!(" events with: {typed}, {} of {total} (Esc: all) ", shown.len()),
    };
    let inside = boxed(frame, area, &title, &app.theme);
    let room = room(inside);
    let lines: Vec<Line<'_>> = shown
        .into_iter()
        .flat_map(|entry| entry.lines(text::wrap(&entry.words, room), &app.theme))
        .collect();
    let most = lines.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let shown = lines.into_iter().skip(app.scroll.min(most));
    frame.render_widget(shown.collect::<Text<'_>>(), inside);
}

/// The columns for the text of an event; one at the right stays free.
fn room(area: Rect) -> usize {
    usize::from(area.width).saturating_sub(INDENT + 1)
}

/// The events and the console's own notes, newest first.
fn entries<'a>(app: &'a App, snapshot: &'a Snapshot) -> impl Iterator<Item = Entry> + 'a {
    let theme = &app.theme;
    let mut events = snapshot.events.iter().rev().peekable();
    let mut notes = app.notes.iter().rev().peekable();
    std::iter::from_fn(move || {
        let note_is_newer = match (events.peek(), notes.peek()) {
            (Some(event), Some((at, _))) => *at >= event.at,
            (None, note) => note.is_some(),
            (Some(_), None) => false,
        };
        if note_is_newer {
            notes.next().map(|(at, text)| Entry {
                at: *at,
                symbol: '»',
                style: theme.accent,
                words: text.clone(),
            })
        } else {
            events.next().map(|event| {
                let (symbol, style) = symbol(event, theme);
                Entry {
                    at: event.at,
                    symbol,
                    style,
                    words: words(event),
                }
            })
        }
    })
}

fn symbol(event: &Event, theme: &Theme) -> (char, Style) {
    match &event.kind {
        EventKind::Phase { .. } | EventKind::Proxy { .. } => ('·', theme.dim),
        EventKind::Fault { error: Some(_), .. } => ('?', theme.warn),
        EventKind::Fault { action, .. } => (action.mark(), theme.warn),
        EventKind::Failover { .. } | EventKind::Demoted { .. } | EventKind::Leader { .. } => ('M', theme.warn),
        EventKind::Caption { .. } => ('▸', theme.accent),
        EventKind::Cluster { .. } => ('!', theme.warn),
        EventKind::Knob { .. } => ('±', theme.accent),
        EventKind::Damage { .. } | EventKind::DoubleHold { .. } => ('✖', theme.bad),
        EventKind::Lock { .. } => ('!', theme.base),
        EventKind::Warning { .. } => ('!', theme.warn),
    }
}

/// The event's text; a fault without an effect may still get one.
fn words(event: &Event) -> String {
    let is_open = matches!(
        event.kind,
        EventKind::Fault {
            effect_at: None,
            error: None,
            ..
        }
    );
    event.text() + if is_open { " …" } else { "" }
}
