//! The figures of all arms, and their latency over time.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::latency::{self, Curve, Plot};
use super::parts::{Frames, fitting, panel};
use super::{arms, timeline};
use crate::console::app::{App, Hit};
use crate::console::axis::{TimeAxis, WINDOWS};
use crate::console::text;
use crate::report::Moment;
use lockstorm_data::facts::{Lacking, lacking_in_short};
use lockstorm_data::model::printable;
use lockstorm_run::Snapshot;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, told: &[Moment]) {
    let frames = if area.height >= 18 {
        Frames::Boxed
    } else {
        Frames::Ruled
    };
    let arms = u16::try_from(snapshot.arms.len()).unwrap_or(u16::MAX);
    let rows = arms.saturating_add(3).min(area.height / 2);
    let [table, chart] = Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(area);
    arms::render(frame, table, frames, app, snapshot);
    time(frame, chart, frames, app, snapshot, told);
}

/// The time panel: the latency of all arms and, below it on the same columns, what happened in the chosen one.
fn time(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot, told: &[Moment]) {
    let Some(arm) = app.charted(snapshot).filter(|_| area.height > 1) else {
        return;
    };
    let inside = panel(frame, area, frames, [Line::default(), Line::default()], &app.theme);
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
    let [area_of_chart, lane_area, axis_row] = Layout::vertical(rows).areas(inside);
    let marks = timeline::marks(told);
    let (curves, plot) = (
        latency::curves(snapshot, app, axis),
        Plot {
            area: area_of_chart,
            gutter,
            axis,
        },
    );
    title(frame, area, app, snapshot, &curves, axis);
    let thresholds = latency::thresholds(snapshot, app.arm);
    latency::render(frame, &plot, app, &curves, &thresholds, &marks);
    timeline::render(frame, lane_area, gutter, axis, app, arm, &lanes, &marks);
    timeline::ticks(frame, axis_row, gutter, axis, hidden, &app.theme);
    app.column_length.set(axis.column_length());
    app.hits(plot.inside(), Hit::Axis(axis));
}

/// What is drawn: the names of the arms and, with a cursor, their values there.
fn title(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, curves: &[Curve<'_>], axis: TimeAxis) {
    let theme = &app.theme;
    let cursor = app.cursor.and_then(|at| Some((at, axis.column(at)?)));
    let what = latency::source(snapshot, app.arm).name();
    let head = match cursor {
        Some((at, _)) => format!("{at:.1} s, p99"),
        None => format!("p99 of {what} (log)"),
    };
    let mut parts = vec![vec![Span::styled(head, theme.strong)]];
    for curve in curves {
        let (sign, name) = (if curve.is_chosen { '━' } else { '─' }, text::fit(curve.name, 20));
        let value = cursor.map_or_else(String::new, |(_, column)| {
            format!(
                " {}",
                curve.at(column).map_or_else(|| text::NONE.to_owned(), text::micros)
            )
        });
        parts.push(vec![Span::styled(format!("{sign} {name}{value}"), curve.style)]);
        if curve.is_chosen && cursor.is_none() {
            parts.push(vec![Span::styled("─ its p50", theme.p50)]);
        }
    }
    // Why the chosen one's acquires are being refused.
    let spec = snapshot.scenario.arms.get(app.arm).zip(snapshot.arms.get(app.arm));
    let lacking = spec.and_then(|(spec, view)| {
        let lacking = Lacking::of(spec, &view.lacking)?;
        Some([lacking.to_string(), lacking_in_short(&lacking.nodes)])
    });
    let lacking = lacking.into_iter().flatten();
    parts.extend(
        lacking
            .map(|nodes| vec![Span::styled(printable(&nodes), theme.warn)])
            .take(1),
    );
    parts.push(vec![Span::styled("┊ fault", theme.warn)]);
    parts.push(vec![Span::styled(WINDOWS[app.window].1, theme.dim)]);
    let room = usize::from(area.width).saturating_sub(4);
    let mut line = Line::from(" ");
    line.spans.extend(fitting(parts, room, "  ").spans);
    line.spans.push(Span::raw(" "));
    frame.render_widget(
        line,
        Rect {
            x: area.x + 1,
            width: area.width.saturating_sub(2),
            height: 1,
            ..area
        },
    );
}
