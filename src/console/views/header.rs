//! The first line: the scenario, its phase, and its load.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::parts::fitting;
use crate::console::app::{App, Stage};
use crate::console::text;
use lockstorm_data::metrics::units;
use lockstorm_data::model::printable;
use lockstorm_data::scenario::{Scenario, Words};
use lockstorm_run::{Phase, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let columns = usize::from(area.width);
    let name = vec![Span::styled(" lockstorm", theme.strong)];
    let Some(scenario) = app.scenario.as_deref() else {
        frame.render_widget(fitting([name], columns, "  "), area);
        return;
    };
    let snapshot = app.picture().map(AsRef::as_ref);
    let mut title = vec![Span::styled(text::fit(&scenario.name, 24), theme.accent)];
    if columns >= 100 {
        let workload = format!(" · {}", scenario.workload.name().word());
        title.push(Span::styled(workload, theme.dim));
    }
    let phase = format!(" {} ", phase(app, scenario, snapshot));
    let mut parts = vec![name, title, vec![Span::styled(phase, theme.badge)]];
    if app.is_frozen() {
        parts.push(vec![Span::styled(" ‖ FROZEN ", theme.selected)]);
    }
    let knobs = snapshot.map(|snapshot| snapshot.knobs);
    let rate = knobs.map_or(scenario.swarm.rate, |knobs| knobs.rate);
    let workers = knobs.map_or(scenario.swarm.workers, |knobs| knobs.workers);
    let plain = |text: String| vec![Span::raw(text)];
    let (servers, workers) = (scenario.swarm.servers, units::count(workers as u64));
    parts.push(plain(format!("{servers}×{workers} workers")));
    let ttl = knobs.and_then(|knobs| knobs.ttl);
    parts.extend(ttl.map(|ttl| plain(format!("TTL {}", text::setting(ttl)))));
    parts.push(plain(match rate {
        Some(rate) => format!("{}/s per arm", text::rate(rate)),
        None => "closed loop".to_owned(),
    }));
    parts.extend(knobs.map(|knobs| plain(format!("hold {}", text::setting(knobs.hold)))));
    parts.push(vec![Span::styled(format!("seed {}", scenario.seed), theme.dim)]);
    parts.extend(snapshot.map(|snapshot| vec![Span::styled(printable(&snapshot.server), theme.dim)]));
    frame.render_widget(fitting(parts, columns, "  "), area);
}

fn phase(app: &App, scenario: &Scenario, snapshot: Option<&Snapshot>) -> String {
    if matches!(app.stage, Stage::Stopping(_)) {
        return "◼ STOPPING".to_owned();
    }
    if app.failure.is_some() {
        return "✖ FAILED".to_owned();
    }
    let Some(snapshot) = snapshot else {
        return "◌ SET-UP".to_owned();
    };
    let whole = snapshot.elapsed.max(0.0).floor();
    let ended = text::seconds(snapshot.elapsed);
    match &snapshot.phase {
        Phase::Failed(_) => "✖ FAILED".to_owned(),
        Phase::SetUp(_) => "◌ SET-UP".to_owned(),
        Phase::WarmUp => format!("◌ WARM-UP {:.0}s", (-snapshot.elapsed).max(0.0).ceil()),
        Phase::Running => format!("▶ RUN {whole}s/{}s", scenario.duration.as_secs()),
        Phase::Draining => "◼ DRAINING".to_owned(),
        Phase::Finished { interrupted: true, .. } => format!("◼ STOPPED at {ended}"),
        Phase::Finished { .. } => format!("◼ FINISHED {ended}"),
    }
}
