//! The last two lines: a word about the last key or a hint at the next one, and the keys, from the table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{fitting, line};
use crate::console::app::{App, Stage};
use crate::console::hint::hint;
use crate::console::keys::{self, Act, Group, Row, Scope};
use crate::console::{knobs, text};
use crate::metrics::{Phase, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let columns = usize::from(area.width);
    let said = match (&app.status, app.picture()) {
        (Some(status), _) => Line::styled(text::fit(&format!(" {status}"), columns), theme.warn),
        (None, Some(snapshot)) if app.picker.is_none() => {
            Line::styled(text::fit(&format!(" {}", hint(app, snapshot)), columns), theme.accent)
        }
        _ => Line::default(),
    };
    line(frame, area, 0, said);
    // The help and the way out are always there, at the end; what comes before gives way.
    let is_last = |row: &&Row| matches!(row.keys, [(_, Act::Help | Act::Quit), ..]);
    let (last, first): (Vec<&Row>, Vec<&Row>) = keys::TABLE.iter().filter(|row| offered(app, row)).partition(is_last);
    let shown = |row: &Row| {
        vec![
            Span::styled(row.label, theme.accent),
            Span::raw(format!(" {}", row.footer)),
        ]
    };
    let end = fitting(last.into_iter().map(shown), columns, "  ");
    let room = columns.saturating_sub(end.width() + 3);
    let mut spans = vec![Span::raw(" ")];
    spans.extend(fitting(first.into_iter().map(shown), room, "  "));
    spans.push(Span::raw("  "));
    spans.extend(end);
    line(frame, area, 1, Line::from(spans));
}

/// Whether a row is of use now.
fn offered(app: &App, row: &Row) -> bool {
    let in_picker = app.picker.is_some();
    let in_scope = match row.scope {
        Scope::Both => true,
        Scope::Picker => in_picker,
        Scope::Run => !in_picker,
    };
    let Some(&(_, act)) = row.keys.first().filter(|_| in_scope && !row.footer.is_empty()) else {
        return false;
    };
    if in_picker || matches!(act, Act::Help | Act::Quit) {
        return true;
    }
    if matches!(app.stage, Stage::Stopping(_)) {
        return false;
    }
    let snapshot = app.newest.as_deref();
    let live = app.is_live();
    match (row.group, act) {
        (Group::Faults, _) => live,
        (_, Act::Turn(dial, turn)) => live && snapshot.is_some_and(|now| knobs::turn(dial, turn, now).is_ok()),
        (_, Act::Freeze) => live || app.is_frozen(),
        (_, Act::Reset | Act::Pick) => snapshot.is_some() || app.failure.is_some(),
        _ => snapshot.is_some_and(|snapshot| shows(act, snapshot)),
    }
}

/// Whether an act on the view has something to act on.
fn shows(act: Act, snapshot: &Snapshot) -> bool {
    match (act, &snapshot.phase) {
        (_, Phase::SetUp(_) | Phase::Failed(_)) => false,
        (Act::Arm(_), _) => snapshot.arms.len() > 1,
        (Act::Expectations, _) => !snapshot.scenario.expect.is_empty(),
        _ => true,
    }
}
