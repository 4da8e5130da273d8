//! The last two lines: a message about the last key or a hint at the next one, and the keys from the table.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::parts::fitting;
use crate::console::app::{App, RunStage, View};
use crate::console::hint::hint;
use crate::console::keys::{self, Act, Group, Overlay, Place, Row, Scope};
use crate::console::knobs;
use crate::console::text;
use lockstorm_run::{Phase, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let columns = usize::from(area.width);
    let said = match (&app.status, app.picture()) {
        (Some(status), _) => Line::styled(text::fit(&format!(" {status}"), columns), theme.warn),
        (None, Some(snapshot)) if app.picker.is_none() => {
            let parts = hint(app, snapshot)
                .into_iter()
                .map(|part| vec![Span::raw(text::fit(&part, columns - 2))]);
            let mut spans = vec![Span::raw(" ")];
            spans.extend(fitting(parts, columns - 2, " · "));
            Line::from(spans).style(theme.accent)
        }
        (None, _) if app.briefing.is_some() => Line::default(),
        (None, _) if app.picker.is_some() => {
            // Without a run there is nothing behind the picker.
            let is_behind = !matches!(app.stage, RunStage::Picking);
            let back = if is_behind { " · Esc goes back" } else { "" };
            Line::styled(format!(" ↑ and ↓ choose · Enter twice starts{back}"), theme.accent)
        }
        _ => Line::default(),
    };
    // The keys for help and quit are always there, at the end; the others give way to them.
    let is_last = |row: &&Row| matches!(row.keys, [(_, Act::Show(Overlay::Help) | Act::Quit), ..]);
    let (last, first): (Vec<&Row>, Vec<&Row>) = keys::TABLE.iter().filter(|row| offered(app, row)).partition(is_last);
    let shown = |row: &Row| {
        let (label, word) = words(app, row);
        vec![Span::styled(label, theme.accent), Span::raw(format!(" {word}"))]
    };
    let end = fitting(last.into_iter().map(shown), columns, "  ");
    let room = columns.saturating_sub(end.width() + 3);
    let start = fitting(first.into_iter().map(shown), room, "  ");
    let mut spans = vec![Span::raw(" ")];
    if start.width() > 0 {
        spans.extend(start);
        spans.push(Span::raw("  "));
    }
    spans.extend(end);
    frame.render_widget(Text::from(vec![said, Line::from(spans)]), area);
}

/// The keys and the word of a row. For digits and the switch they depend on what the digits select.
fn words(app: &App, row: &Row) -> (String, &'static str) {
    let snapshot = app.newest.as_deref();
    let [hosts, servers] = snapshot.map_or([0; 2], |now| [now.hosts.len(), now.servers.len()]);
    match row.keys.first() {
        Some((_, Act::Select(_))) if app.digits_pick_servers => (range(servers), "app server"),
        Some((_, Act::Select(_))) => (range(hosts), "host"),
        Some((_, Act::SwitchDigits)) if app.digits_pick_servers => (row.label.to_owned(), "hosts"),
        _ => (row.label.to_owned(), row.footer),
    }
}

fn range(targets: usize) -> String {
    if targets > 1 {
        format!("1-{}", targets.min(9))
    } else {
        "1".to_owned()
    }
}

/// Whether a row is useful now.
fn offered(app: &App, row: &Row) -> bool {
    let place = app.place();
    let is_shown = row.works(place) && !row.footer.is_empty();
    let Some(&(_, act)) = row.keys.first().filter(|_| is_shown) else {
        return false;
    };
    if place == Place::Picker || row.scope == Scope::Record || matches!(act, Act::Show(Overlay::Help) | Act::Quit) {
        return true;
    }
    if matches!(app.stage, RunStage::Stopping(_)) {
        return false;
    }
    let snapshot = app.newest.as_deref();
    let live = app.is_live();
    match (row.group, act) {
        (Group::Faults, _) => live,
        (_, Act::Turn(kind, turn)) => {
            let turned = |now: &Snapshot| knobs::turn(kind, turn, &app.knobs.values(now), &now.scenario);
            live && snapshot.is_some_and(|now| turned(now).is_ok())
        }
        (_, Act::Freeze) => live || app.is_frozen(),
        (_, Act::Pick) => true,
        (_, Act::NextTheme) if !app.theme.colours => false,
        (_, Act::Reset) => app.failure.is_some() || snapshot.is_some_and(|now| !matches!(now.phase, Phase::SetUp(_))),
        _ => snapshot.is_some_and(|snapshot| shows(app, act, snapshot)),
    }
}

/// Whether an act has something to act on in this view.
fn shows(app: &App, act: Act, snapshot: &Snapshot) -> bool {
    match (act, &snapshot.phase) {
        (_, Phase::SetUp(_) | Phase::Failed(_)) => false,
        (Act::NextWindow, _) => matches!(app.view, View::Dashboard | View::Charts),
        (Act::Show(Overlay::Expectations), _) => !snapshot.scenario.expect.is_empty(),
        _ => true,
    }
}
