//! Hosts and faults above the scoreboard.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::conditions::{of_host, state};
use super::parts::fitting;
use crate::console::app::App;
use crate::console::text;
use lockstorm_data::facts::EventKind;
use lockstorm_data::model::Target;
use lockstorm_run::Snapshot;

/// From this height on, the title, the hosts and the faults have a row each.
const ROOMY: u16 = 18;

/// How many rows of an area it takes.
pub(super) const fn height(area: Rect) -> u16 {
    if area.height >= ROOMY { 3 } else { 1 }
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, title: &str) {
    let columns = usize::from(area.width);
    let title = Span::styled(title.to_uppercase(), app.theme.strong);
    if area.height < 3 {
        let parts = [vec![Span::raw(" "), title]]
            .into_iter()
            .chain(states(app, snapshot, true));
        frame.render_widget(fitting(parts, columns, "  "), area);
        return;
    }
    let states = fitting(states(app, snapshot, false), columns, "   ");
    let faults = fitting(faults(app, snapshot, columns), columns, "   ");
    let lines = vec![Line::from(title), states, faults];
    frame.render_widget(Text::from(lines).centered(), area);
}

/// Every host (only by its number where space is short), and the app servers that are not up.
fn states<'a>(app: &'a App, snapshot: &Snapshot, short: bool) -> impl Iterator<Item = Vec<Span<'a>>> {
    let theme = app.theme;
    let name = move |name: String, target: Target| Span::styled(format!(" {name} "), app.name_style(target));
    let hosts = snapshot.hosts.iter().map(move |host| {
        let (symbol, words, style) = of_host(host, if short { "" } else { "UP" }, &theme);
        let state = Span::styled(format!(" {symbol} {words}").trim_end().to_owned(), style);
        let called = if short {
            host.id.0.to_string()
        } else {
            host.id.to_string()
        };
        vec![name(called, Target::Host(host.id)), state]
    });
    let down = snapshot.servers.iter().filter(|server| !server.is_well());
    let servers = down.map(move |server| {
        let clients = server.broken_clients();
        let (symbol, words, style) = state(clients.unwrap_or(&server.conditions), "", &theme);
        let whose = if clients.is_some() { "client " } else { "" };
        let state = Span::styled(format!(" {symbol} {whose}{words}"), style);
        vec![name(server.id.to_string(), Target::Server(server.id)), state]
    });
    hosts.chain(servers).collect::<Vec<_>>().into_iter()
}

/// The faults, newest first, in so few words that two of them fit.
fn faults<'a>(app: &App, snapshot: &Snapshot, columns: usize) -> impl Iterator<Item = Vec<Span<'a>>> {
    let theme = app.theme;
    let room = (columns / 2).saturating_sub(12);
    let faults = snapshot.events.iter().rev();
    faults
        .filter(|event| matches!(event.kind, EventKind::Fault { .. }))
        .map(move |event| {
            let at = Span::styled(format!("{:.1}s ", event.at), theme.dim);
            vec![at, Span::styled(text::fit(&event.text(), room), theme.warn)]
        })
}
