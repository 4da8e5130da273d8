//! All panels at once, and how much room each gets.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::parts::{Frames, panel};
use super::{arms, bars, events, hosts, latency, servers, timeline};
use crate::console::app::App;
use crate::console::axis::{TimeAxis, WINDOWS};
use crate::console::text;
use lockstorm_data::model::printable;
use lockstorm_run::{ArmView, Snapshot, lacking, lacking_in_short};

/// From this size on, panels have boxes.
const ROOMY: (u16, u16) = (96, 30);

/// The rows of each panel, from the top; 0 leaves a panel out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    hosts: u16,
    servers: u16,
    arms: u16,
    time: u16,
    events: u16,
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    // The header and the footer have taken three rows.
    let roomy = area.width >= ROOMY.0 && area.height + 3 >= ROOMY.1;
    let host_rows = hosts::height(area.width, snapshot.hosts.len(), roomy);
    let rows = share(area, snapshot.arms.len(), host_rows, roomy);
    let panels = [rows.hosts, rows.servers, rows.arms, rows.time, rows.events].map(Constraint::Length);
    let [host_area, server_area, arm_area, time_area, event_area] = Layout::vertical(panels).areas(area);
    let frames = match (roomy, area.height) {
        (true, _) => Frames::Boxed,
        (false, 18..) => Frames::Ruled,
        (false, _) => Frames::Bare,
    };
    hosts::render(frame, host_area, app, snapshot);
    servers::render(frame, server_area, app, snapshot);
    arms::render(frame, arm_area, frames, app, snapshot);
    let of_time = if roomy { Frames::Boxed } else { Frames::Ruled };
    time(frame, time_area, of_time, app, snapshot);
    if roomy {
        let columns = [Constraint::Fill(55), Constraint::Fill(45)];
        let [left, right] = Layout::horizontal(columns).areas(event_area);
        events::render(frame, left, frames, app, snapshot);
        bars::render(frame, right, frames, app, snapshot);
    } else {
        events::render(frame, event_area, frames, app, snapshot);
    }
}

/// Shares the rows among the panels. What is left over goes to the chart and the events.
fn share(area: Rect, arms: usize, hosts: u16, roomy: bool) -> Rows {
    let height = area.height;
    let arms = u16::try_from(arms).unwrap_or(u16::MAX);
    if roomy {
        let arms = arms.saturating_add(3).min(height / 3);
        let rest = height.saturating_sub(hosts + 1 + arms);
        // The bars need a row for each arm.
        let events = (rest / 3).clamp(7, 7.max(arms.saturating_sub(1)).max(rest / 4));
        return Rows {
            hosts,
            servers: 1,
            arms,
            time: rest.saturating_sub(events),
            events,
        };
    }
    let ruled = u16::from(height >= 18);
    let servers = u16::from(height >= 15);
    let arms = arms.saturating_add(1 + ruled).min(height / 2);
    let rest = height.saturating_sub(hosts + servers + arms);
    let events = match rest {
        0..7 => 1.min(rest),
        7..13 => rest - 6 - (rest - 6) / 2,
        _ => rest / 3,
    };
    Rows {
        hosts,
        servers,
        arms,
        time: rest - events,
        events,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panels_never_ask_for_more_than_there_is() {
        for width in [60, 96, 300] {
            for height in 13..100 {
                for arms in [1, 5, 40] {
                    let roomy = width >= ROOMY.0 && height + 3 >= ROOMY.1;
                    let hosts = hosts::height(width, 3, roomy);
                    let rows = share(Rect::new(0, 0, width, height), arms, hosts, roomy);
                    let sum = rows.hosts + rows.servers + rows.arms + rows.time + rows.events;
                    assert_eq!(sum, height, "{rows:?}");
                    assert!(rows.time >= 4, "{width}×{height}, {arms} arms: {rows:?}");
                }
            }
        }
    }
}
