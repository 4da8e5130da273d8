//! The story of a run: a row for each lock with its state, what it cost, why and when, and below them what happened.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::{charts, happened, hosts, locks, servers};
use crate::console::app::App;
use crate::report::{Arm, Moment, moments};
use lockstorm_run::{ServerView, Snapshot};

/// From this width on, the charts stand beside the story.
const WIDE: u16 = 180;
/// The width of the story then.
const STORY: u16 = 120;

/// What happened in this run so far.
pub(super) fn told(snapshot: &Snapshot) -> Vec<Moment> {
    let cost = snapshot.scenario.workload.about().display().cost;
    moments(&snapshot.events, &Arm::all_of_snapshot(snapshot), cost)
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let told = told(snapshot);
    if area.width >= WIDE {
        let [story, beside] = Layout::horizontal([Constraint::Length(STORY), Constraint::Fill(1)]).areas(area);
        self::story(frame, story, app, snapshot, &told);
        charts::render(frame, beside, app, snapshot, &told);
    } else {
        story(frame, area, app, snapshot, &told);
    }
}

fn story(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, told: &[Moment]) {
    let gap = u16::from(area.height >= 24);
    let of_servers = u16::from(app.digits_pick_servers || !snapshot.servers.iter().all(ServerView::is_well));
    let room = area.height.saturating_sub(1 + of_servers + 2 * gap);
    // Some rows are for what happened.
    let rows = locks::height(snapshot, room.saturating_sub(if area.height < 16 { 2 } else { 5 }));
    let parts = [gap, 1, of_servers, gap, rows].map(Constraint::Length);
    let [_, host_area, server_area, _, lock_area, rest] =
        Layout::vertical(parts.into_iter().chain([Constraint::Min(0)]).collect::<Vec<_>>()).areas(area);
    hosts::render(frame, host_area, app, snapshot);
    servers::render(frame, server_area, app, snapshot);
    locks::render(frame, lock_area, app, snapshot, told);
    happened::render(frame, rest, app, snapshot, told);
}
