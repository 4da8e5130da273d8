//! What happened when, in lanes on the same columns as the latency chart.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::console::app::App;
use crate::console::axis::TimeAxis;
use crate::console::plot::BARS;
use crate::console::samples::samples;
use crate::console::text;
use crate::console::theme::Theme;
use crate::report::{DAMAGE, Moment};
use lockstorm_data::metrics::units::place;
use lockstorm_data::metrics::{Alarm, Metric, Point};
use lockstorm_run::{ArmView, Snapshot};

/// A fault on the time axis: when it took effect or, until then, when it was ordered; and the letter of its action, in lower case until
/// it takes effect, `?` if the effect could not be verified.
pub(super) type FaultMark = (f64, char);

/// The faults of what is told; an end is never drawn over the fault that it ends.
pub(super) fn marks(told: &[Moment]) -> Vec<FaultMark> {
    let marks = told.iter().filter_map(|moment| Some((moment.at, moment.letter?)));
    let mut marks: Vec<FaultMark> = marks.collect();
    marks.sort_by_key(|(_, letter)| !letter.eq_ignore_ascii_case(&'R'));
    marks
}

/// The smallest number of columns left of the plot; the labels of the chart above need them.
const GUTTER: usize = 11;

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Faults,
    Of(Metric),
}

impl Lane {
    const fn title(self) -> &'static str {
        match self {
            Self::Faults => "faults",
            Self::Of(metric) => metric.title(),
        }
    }

    fn value(self, point: &Point) -> u64 {
        match self {
            Self::Faults => 0,
            Self::Of(metric) => point.of(metric).unwrap_or(0),
        }
    }

    const fn style(self, theme: &Theme) -> Style {
        let Self::Of(metric) = self else { return theme.warn };
        match metric.row().alarm {
            Alarm::Damage(_) => theme.bad_block,
            Alarm::Doubt => theme.warn,
            Alarm::Plain | Alarm::Poor(_) => theme.p50,
        }
    }

    /// Whether it shows damage that is proven.
    fn is_proven(self, arm: &ArmView) -> bool {
        matches!(self, Self::Of(metric) if metric.is_proven(&arm.figures))
    }

    /// Its title, with the mark of damage if it is proven.
    fn label(self, is_proven: bool) -> String {
        let title = self.title();
        if is_proven {
            format!("{} {title}", DAMAGE.1)
        } else {
            title.to_owned()
        }
    }
}

/// All lanes of a run.
fn all(snapshot: &Snapshot) -> Vec<Lane> {
    let own = snapshot.scenario.workload.about().display().lanes;
    let own = own.iter().copied().map(Lane::Of);
    [Lane::Faults].into_iter().chain(own).collect()
}

/// The columns left of the plot: room for every title with its mark, so that nothing moves when damage is proven.
pub(super) fn gutter(snapshot: &Snapshot) -> u16 {
    let can_be_damage = |lane: Lane| matches!(lane, Lane::Of(metric) if metric.is_damage());
    let width = |lane: Lane| text::width(&lane.label(can_be_damage(lane))) + 1;
    let widest = all(snapshot).into_iter().map(width).fold(GUTTER, usize::max);
    u16::try_from(widest).unwrap_or(u16::MAX)
}

/// The lanes that fit into `room` rows: proven damage first, then faults, then what occurs in this arm; and how many are
/// left out.
pub(super) fn lanes(snapshot: &Snapshot, arm: &ArmView, room: usize) -> (Vec<Lane>, usize) {
    let all = all(snapshot);
    let worth = |lane: &Lane| match lane {
        _ if lane.is_proven(arm) => 0,
        Lane::Faults => 1,
        Lane::Of(_) if arm.series.iter().any(|point| lane.value(point) > 0) => 2,
        Lane::Of(_) => 3,
    };
    let mut best = all.clone();
    best.sort_by_key(worth);
    best.truncate(room);
    let hidden = all.len() - best.len();
    let shown: Vec<Lane> = all.into_iter().filter(|lane| best.contains(lane)).collect();
    (shown, hidden)
}

#[expect(clippy::too_many_arguments, reason = "a picture of many things in one place")]
pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    gutter: u16,
    axis: TimeAxis,
    app: &App,
    arm: &ArmView,
    lanes: &[Lane],
    marks: &[FaultMark],
) {
    for (y, &lane) in (area.top()..area.bottom()).zip(lanes) {
        let row = Rect { y, height: 1, ..area };
        if lane == Lane::Faults {
            letters(frame, row, gutter, axis, app, marks);
        } else {
            bars(frame, row, gutter, axis, app, arm, lane);
        }
    }
}

fn letters(frame: &mut Frame<'_>, row: Rect, gutter: u16, axis: TimeAxis, app: &App, marks: &[FaultMark]) {
    let theme = &app.theme;
    let buffer = frame.buffer_mut();
    let title = text::right(Lane::Faults.title(), usize::from(gutter - 1));
    buffer.set_string(row.x, row.y, title, theme.dim);
    for (at, letter) in marks {
        if let Some(column) = axis.column(*at)
            && let Some(cell) = buffer.cell_mut((row.x + gutter + column, row.y))
        {
            cell.set_char(*letter).set_style(theme.warn);
        }
    }
}

fn bars(frame: &mut Frame<'_>, row: Rect, gutter: u16, axis: TimeAxis, app: &App, arm: &ArmView, lane: Lane) {
    let theme = &app.theme;
    let columns = rates(axis, arm, lane);
    let most = columns.iter().copied().fold(0.0, f64::max);
    let hit = lane.is_proven(arm);
    let name_style = if hit { theme.bad } else { theme.dim };
    let name = text::fit(&lane.label(hit), usize::from(gutter - 1));
    let start = row.x + gutter - 1 - u16::try_from(text::width(&name)).unwrap_or(0);
    let buffer = frame.buffer_mut();
    buffer.set_string(start, row.y, name, name_style);
    let style = lane.style(theme);
    for (x, &value) in (row.x + gutter..).zip(&columns) {
        let bar = place((value / most.max(f64::MIN_POSITIVE) * 7.0).floor());
        match buffer.cell_mut((x, row.y)) {
            Some(cell) if value > 0.0 => cell.set_symbol(BARS[bar.min(7)]).set_style(style),
            _ => continue,
        };
    }
    // The scale: the largest value of any second. It is drawn on free columns, if possible at the start.
    let mut walk = axis.walk();
    let seconds = arm.series.iter().filter(|point| walk.second(point.time).is_some());
    let most = seconds.map(|point| lane.value(point)).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let label = format!("max {}/s", text::count(most));
    let length = text::width(&label);
    let free = |cells: &[f64]| cells.len() > length && cells.iter().all(|&value| value <= 0.0);
    let start = match columns.len().checked_sub(length) {
        None => return,
        Some(end) if !free(&columns[..=length.min(columns.len() - 1)]) && free(&columns[end.saturating_sub(1)..]) => {
            end
        }
        Some(_) => 0,
    };
    let x = row.x + gutter + u16::try_from(start).unwrap_or(0);
    buffer.set_string(x, row.y, label, theme.dim);
}

/// The rate per second in each column.
fn rates(axis: TimeAxis, arm: &ArmView, lane: Lane) -> Vec<f64> {
    let (mut columns, mut walk) = (vec![0.0; usize::from(axis.columns())], axis.walk());
    for sample in samples(arm, axis, |point| lane.value(point)) {
        let (value, seconds) = (sample.value as f64, (sample.time.end - sample.time.start) as f64 / 10.0);
        let Some(range) = walk.tenths(sample.time).filter(|_| value > 0.0) else {
            continue;
        };
        for column in &mut columns[usize::from(range.start)..usize::from(range.end)] {
            // Tenths in a column are added up; of seconds, the worst is shown.
            *column = if seconds < 1.0 {
                *column + value / axis.column_length().max(seconds)
            } else {
                value.max(*column)
            };
        }
    }
    columns
}

/// The seconds under the axis, and how many lanes are left out.
pub(super) fn ticks(frame: &mut Frame<'_>, row: Rect, gutter: u16, axis: TimeAxis, hidden: usize, theme: &Theme) {
    if row.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    if hidden > 0 {
        let more = text::right(&format!("+{hidden} more"), usize::from(gutter - 1));
        buffer.set_string(row.x, row.y, more, theme.dim);
    }
    let end = row.x + gutter + axis.columns();
    for second in axis.ticks(9) {
        let label = format!("╵{}", text::clock(second));
        let Some(column) = axis.column(second as f64) else {
            continue;
        };
        let x = row.x + gutter + column;
        if x + u16::try_from(text::width(&label)).unwrap_or(u16::MAX) <= end {
            buffer.set_string(x, row.y, label, theme.dim);
        }
    }
}
