//! The first line: the scenario, its phase, and its load.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::parts::fitting;
use crate::console::app::{App, RunStage, View};
use crate::console::text;
use crate::console::theme::Theme;
use lockstorm_data::facts::EventKind;
use lockstorm_data::metrics::units;
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Scenario;
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
    let title = vec![Span::styled(text::fit(&scenario.name, 24), theme.accent)];
    let phase = format!(" {} ", phase(app, snapshot));
    let mut parts = vec![name, title, vec![Span::styled(phase, theme.badge)]];
    if app.is_frozen() {
        let is_over = app
            .newest
            .as_ref()
            .is_some_and(|newest| matches!(newest.phase, Phase::Finished { .. }));
        let words = if is_over {
            " ‖ FROZEN, the run is over "
        } else {
            " ‖ FROZEN "
        };
        parts.push(vec![Span::styled(words, theme.selected)]);
    }
    // How the run was set is for those who look closer.
    if app.view == View::Charts {
        let held = snapshot.filter(|snapshot| snapshot.held);
        parts.extend(held.map(|_| vec![Span::styled("held", theme.warn)]));
        // Of a turned knob a record has only words.
        let is_turned = |snapshot: &Snapshot| {
            snapshot
                .events
                .iter()
                .any(|event| matches!(event.kind, EventKind::Knob { .. }))
        };
        let reported = app.record.as_ref().and_then(|record| record.reported.as_ref());
        if let Some(reported) = reported.filter(|_| app.replay.is_some()) {
            parts.push(vec![Span::raw(reported.to_string())]);
        } else if app.replay.is_none() || !snapshot.is_some_and(is_turned) {
            parts.extend(settings(scenario, snapshot, theme));
        }
    } else {
        parts.extend(snapshot.and_then(|snapshot| progress(snapshot, columns, app)));
    }
    frame.render_widget(fitting(parts, columns, "  "), area);
}

/// How much of the run is over, and how long it is.
fn progress(snapshot: &Snapshot, columns: usize, app: &App) -> Option<Vec<Span<'static>>> {
    let theme = &app.theme;
    // A record ends where its run did, and says itself where that is.
    let of_record = snapshot.ends_at.filter(|_| app.replay.is_some());
    let length = of_record.unwrap_or_else(|| snapshot.length() as f64);
    let done = (snapshot.elapsed / length).clamp(0.0, 1.0);
    let cells = (columns / 4).min(40);
    let past = units::place((done * cells as f64).round()).min(cells);
    matches!(snapshot.phase, Phase::Running).then(|| {
        vec![
            Span::styled("━".repeat(past), theme.accent),
            Span::styled("─".repeat(cells - past), theme.dim),
            match snapshot.ends_at {
                _ if app.replay.is_some() => Span::default(),
                None => Span::styled(" held", theme.warn),
                Some(at) => Span::raw(format!(
                    " {}",
                    units::setting(Duration::from_secs(units::rounded(at.ceil())))
                )),
            },
        ]
    })
}

/// The load and the locks' settings.
fn settings(scenario: &Scenario, snapshot: Option<&Snapshot>, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let knobs = snapshot.map(|snapshot| snapshot.knobs);
    let rate = knobs.map_or(scenario.swarm.rate, |knobs| knobs.rate);
    let workers = knobs.map_or(scenario.swarm.workers, |knobs| knobs.workers);
    let mut parts = Vec::new();
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
    parts
}

fn phase(app: &App, snapshot: Option<&Snapshot>) -> String {
    if let Some(replay) = &app.replay {
        return replay.label();
    }
    if matches!(app.stage, RunStage::Stopping(_)) {
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
        Phase::Running => format!("▶ RUN {whole} s"),
        Phase::Draining => "◼ DRAINING".to_owned(),
        Phase::Finished { interrupted: true, .. } => format!("◼ STOPPED at {ended}"),
        Phase::Finished { .. } => format!("◼ FINISHED {ended}"),
    }
}
