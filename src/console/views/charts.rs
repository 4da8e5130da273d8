//! The figures of all arms, and the latency of one of them over time.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::parts::{Frames, panel};
use super::{arms, latency, timeline};
use crate::console::app::App;
use crate::console::axis::{TimeAxis, WINDOWS};
use crate::console::text;
use lockstorm_data::model::printable;
use lockstorm_run::{ArmView, Snapshot, lacking, lacking_in_short};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let frames = if area.height >= 18 {
        Frames::Boxed
    } else {
        Frames::Ruled
    };
    let arms = u16::try_from(snapshot.arms.len()).unwrap_or(u16::MAX);
    let rows = arms.saturating_add(3).min(area.height / 2);
    let [table, chart] = Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(area);
    arms::render(frame, table, frames, app, snapshot);
    time(frame, chart, frames, app, snapshot);
}

/// The time panel: the latency of the charted arm and, below it on the same columns, what happened.
fn time(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let Some(arm) = app.charted(snapshot).filter(|_| area.height > 1) else {
        return;
    };
    let inside = frame_of_time(frame, area, frames, app, snapshot, arm);
    let gutter = timeline::gutter(snapshot);
    let plot_width = inside.width.saturating_sub(gutter + u16::from(frames != Frames::Boxed));
    let oldest = arm.series.iter().next().map_or(0, |point| point.time);
    let axis = TimeAxis::new(WINDOWS[app.window].0, snapshot.elapsed, oldest, plot_width);
    if plot_width == 0 {
        return;
    }
    let room = match inside.height {
        0..3 => 0,
        3..7 => 1,
        7..10 => 3,
        _ => usize::MAX,
    };
    let (lanes, hidden) = timeline::lanes(snapshot, arm, room);
    let shown_rows = u16::try_from(lanes.len()).unwrap_or(0);
    let rows = [
        Constraint::Min(0),
        Constraint::Length(shown_rows),
        Constraint::Length(1),
    ];
    let [chart, lane_area, axis_row] = Layout::vertical(rows).areas(inside);
    let marks = timeline::marks(snapshot);
    let source = latency::source(snapshot, app.arm);
    latency::render(frame, chart, gutter, axis, app, arm, source, &marks);
    timeline::render(frame, lane_area, gutter, axis, app, arm, &lanes, &marks);
    timeline::ticks(frame, axis_row, gutter, axis, hidden, &app.theme);
}

fn frame_of_time(
    frame: &mut Frame<'_>,
    area: Rect,
    frames: Frames,
    app: &App,
    snapshot: &Snapshot,
    arm: &ArmView,
) -> Rect {
    let theme = &app.theme;
    let room = usize::from(area.width);
    let of = latency::source(snapshot, app.arm).name();
    let mut title = vec![
        Span::styled(format!(" {} ", text::fit(&arm.name, 20)), theme.strong),
        Span::styled(format!("· {of} (log)  "), theme.base),
        Span::styled("─ p50  ", theme.p50),
        Span::styled("━ p99  ", theme.p99),
    ];
    let mut used: usize = title.iter().map(Span::width).sum();
    for (extra, style) in [
        ("┊ fault  ".to_owned(), theme.warn),
        (format!("{}  ", WINDOWS[app.window].1), theme.dim),
    ] {
        if used + extra.chars().count() + 2 <= room {
            used += extra.chars().count();
            title.push(Span::styled(extra, style));
        }
    }
    // Why its acquires are being refused.
    let spec = snapshot.scenario.arms.iter().find(|spec| spec.name == arm.name);
    let lacking = spec.and_then(|spec| lacking(spec, &arm.lacking));
    let lacking = lacking
        .map_or_else(Vec::new, |nodes| vec![nodes, lacking_in_short(&arm.lacking)])
        .iter()
        .map(|nodes| format!(" {} ", printable(nodes)))
        .find(|nodes| used + text::width(nodes) + 4 <= room)
        .unwrap_or_default();
    let titles = [Line::from(title), Line::styled(lacking, theme.warn)];
    panel(frame, area, frames, titles, theme)
}
