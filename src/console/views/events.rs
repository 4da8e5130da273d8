//! The event log, newest first, with what the console itself did.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Frames, line, panel};
use crate::console::app::App;
use crate::console::text;
use crate::console::theme::Theme;
use crate::metrics::{Snapshot, units};
use crate::model::{Event, EventKind};

/// The panel of the dashboard: as many as fit.
pub(super) fn render(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let inside = panel(
        frame,
        area,
        frames,
        Line::styled(" events ", app.theme.strong),
        &app.theme,
    );
    list(frame, inside, app, snapshot, 0);
}

/// The view of all events, to be scrolled.
pub(super) fn render_all(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let total = snapshot.events.len() + app.notes.len();
    let title = format!(" events: {total}, newest first ");
    let inside = panel(
        frame,
        area,
        Frames::Boxed,
        Line::styled(title, app.theme.strong),
        &app.theme,
    );
    let most = total.saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    list(frame, inside, app, snapshot, app.scroll.min(most));
}

fn list(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, skipped: usize) {
    let theme = &app.theme;
    let rows = usize::from(area.height);
    let mut events = snapshot.events.iter().rev().peekable();
    let mut notes = app.notes.iter().rev().peekable();
    let lines = std::iter::from_fn(|| {
        let note_is_newer = match (events.peek(), notes.peek()) {
            (Some(event), Some((at, _))) => *at >= event.at,
            (None, note) => note.is_some(),
            (Some(_), None) => false,
        };
        if note_is_newer {
            notes.next().map(|(at, text)| (*at, '»', theme.accent, text.clone()))
        } else {
            events.next().map(|event| {
                let (symbol, style) = symbol(event, theme);
                (event.at, symbol, style, words(event))
            })
        }
    });
    for (row, (at, symbol, style, words)) in (0..).zip(lines.skip(skipped).take(rows)) {
        let room = usize::from(area.width).saturating_sub(12);
        let spans = vec![
            Span::styled(format!("{:>8} ", format!("{at:.1}s")), theme.dim),
            Span::styled(symbol.to_string(), style),
            Span::styled(format!(" {}", text::fit(&words, room)), style),
        ];
        line(frame, area, row, Line::from(spans));
    }
}

fn symbol(event: &Event, theme: &Theme) -> (char, Style) {
    match &event.kind {
        EventKind::Phase => ('·', theme.dim),
        EventKind::Fault { error: Some(_), .. } => ('?', theme.warn),
        EventKind::Fault { action, .. } => (action.mark(), theme.warn),
        EventKind::Knob => ('±', theme.accent),
        EventKind::Damage { .. } => ('✖', theme.bad),
        EventKind::Lock { .. } => ('!', theme.base),
        EventKind::Warning => ('!', theme.warn),
    }
}

/// The event's own words, and of a fault when it took effect, if they don't say it.
fn words(event: &Event) -> String {
    let text = &event.text;
    match &event.kind {
        EventKind::Fault { error: Some(error), .. } if !text.contains(error.as_str()) => format!("{text}: {error}"),
        EventKind::Fault {
            effect_at: Some(effect_at),
            error: None,
            ..
        } if !text.contains("effective") => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped, and short
            let after = ((effect_at - event.at).max(0.0) * 1e6).round() as u64;
            format!("{text}, effective after {}", units::micros(after))
        }
        EventKind::Fault {
            effect_at: None,
            error: None,
            ..
        } => format!("{text} …"),
        _ => text.clone(),
    }
}
