//! While a run is being stopped: what it waits for, how long at most, and what the same key does now.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};

use super::parts::dialog;
use crate::console::app::{AfterStop, App};
use lockstorm_run::{Phase, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, then: &AfterStop) {
    let (title, next) = match (then, app.hurried) {
        (AfterStop::Quit, false) => ("Stopping", "q again: does not wait for workers."),
        (AfterStop::Quit, true) => ("Stopping at once", "q again: quits without the summary."),
        (AfterStop::Launch(_), false) => ("Restarting", "R again: does not wait. q quits instead."),
        (AfterStop::Launch(_), true) => ("Restarting at once", "Then a new lab starts. q quits instead."),
    };
    let inside = dialog(frame, area, [54, 4], title, &app.theme);
    let waiting = app.newest.as_deref().map_or_else(|| LAB.to_owned(), waiting);
    let lines = vec![Line::from(waiting), Line::styled(next, app.theme.dim)];
    frame.render_widget(Text::from(lines), inside);
}

const LAB: &str = "The lab goes down …";

/// What the run is waiting for.
fn waiting(snapshot: &Snapshot) -> String {
    match (&snapshot.phase, snapshot.gives_up_in) {
        (Phase::SetUp(_) | Phase::Finished { .. } | Phase::Failed(_), _) => LAB.to_owned(),
        (_, Some(left)) => format!(
            "The workers finish: given up in {:.0} s without progress …",
            left.as_secs_f64().ceil()
        ),
        (Phase::Draining, None) => "The ledger is read and the lab goes down …".to_owned(),
        (Phase::WarmUp | Phase::Running, None) => "The workers finish and the lab goes down …".to_owned(),
    }
}
