//! What happened when, in lanes on the columns of the latency chart.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::console::app::App;
use crate::console::axis::TimeAxis;
use crate::console::plot::BARS;
use crate::console::text;
use crate::console::theme::Theme;
use crate::metrics::{ArmView, Point, Snapshot};
use crate::model::EventKind;
use crate::scenario::WorkloadSpec;

/// A fault on the time axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FaultMark {
    /// When it took effect, or was asked for while it has not.
    pub at: f64,
    /// The letter of its action: small while it has no effect, `?` when the effect could not be verified.
    letter: char,
}

impl FaultMark {
    const fn is_end(&self) -> bool {
        self.letter.eq_ignore_ascii_case(&'R')
    }
}

/// The faults of the run.
pub(super) fn marks(snapshot: &Snapshot) -> Vec<FaultMark> {
    let mark = |event: &crate::model::Event| match &event.kind {
        EventKind::Fault {
            action,
            effect_at,
            error,
            ..
        } => {
            let letter = match (effect_at, error) {
                (_, Some(_)) => '?',
                (None, None) => action.mark().to_ascii_lowercase(),
                (Some(_), None) => action.mark(),
            };
            Some(FaultMark {
                at: effect_at.unwrap_or(event.at),
                letter,
            })
        }
        _ => None,
    };
    snapshot.events.iter().filter_map(mark).collect()
}

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Faults,
    NoQuorum,
    Oversold,
    LostUpdates,
    DbHits,
    Stale,
}

impl Lane {
    const fn name(self) -> &'static str {
        match self {
            Self::Faults => "faults",
            Self::NoQuorum => "no quorum",
            Self::Oversold => "oversold",
            Self::LostUpdates => "lost upd",
            Self::DbHits => "db hits",
            Self::Stale => "stale",
        }
    }

    const fn value(self, point: &Point) -> u64 {
        match self {
            Self::Faults => 0,
            Self::NoQuorum => point.outcomes.no_quorum,
            Self::Oversold => point.oversold,
            Self::LostUpdates => point.lost_updates,
            Self::DbHits => point.db_hits,
            Self::Stale => point.stale_reads,
        }
    }

    const fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Faults | Self::NoQuorum => theme.warn,
            Self::Oversold | Self::LostUpdates => theme.bad,
            Self::DbHits | Self::Stale => theme.p50,
        }
    }

    const fn is_damage(self) -> bool {
        matches!(self, Self::Oversold | Self::LostUpdates)
    }
}

/// The lanes of a workload, the most telling first.
pub(super) fn lanes(snapshot: &Snapshot) -> [Lane; 4] {
    match &snapshot.scenario.workload {
        WorkloadSpec::Inventory(_) => [Lane::Faults, Lane::NoQuorum, Lane::Oversold, Lane::LostUpdates],
        WorkloadSpec::CacheFill { .. } => [Lane::Faults, Lane::NoQuorum, Lane::DbHits, Lane::Stale],
    }
}

#[allow(clippy::too_many_arguments)] // a picture of many things in one place
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
    buffer.set_string(
        row.x,
        row.y,
        text::right(Lane::Faults.name(), usize::from(gutter - 1)),
        theme.dim,
    );
    // Of two in a column the later one shows, but an end never covers what it ends; the event log has them all.
    let (ends, faults): (Vec<&FaultMark>, Vec<&FaultMark>) = marks.iter().partition(|mark| mark.is_end());
    for mark in ends.into_iter().chain(faults) {
        let cell = axis
            .column(mark.at)
            .and_then(|column| buffer.cell_mut((row.x + gutter + column, row.y)));
        if let Some(cell) = cell {
            cell.set_char(mark.letter).set_style(theme.warn);
        }
    }
}

fn bars(frame: &mut Frame<'_>, row: Rect, gutter: u16, axis: TimeAxis, app: &App, arm: &ArmView, lane: Lane) {
    let theme = &app.theme;
    let mut columns = vec![0; usize::from(axis.columns())];
    let seconds = usize::try_from(axis.span()).unwrap_or(usize::MAX);
    for point in arm.series.last(seconds) {
        let value = lane.value(point);
        let Some(range) = axis.second(point.second).filter(|_| value > 0) else {
            continue;
        };
        for column in &mut columns[usize::from(range.start)..usize::from(range.end)] {
            *column = value.max(*column);
        }
    }
    let most = columns.iter().copied().max().unwrap_or(0);
    let hit = lane.is_damage() && most > 0;
    let name = if hit {
        format!("✖ {}", lane.name())
    } else {
        lane.name().to_owned()
    };
    let name_style = if hit { theme.bad } else { theme.dim };
    let name = text::fit(&name, usize::from(gutter - 1));
    let start = row.x + gutter - 1 - u16::try_from(text::width(&name)).unwrap_or(0);
    let buffer = frame.buffer_mut();
    buffer.set_string(start, row.y, name, name_style);
    // A full bar of damage on a ground of its own would be a block: bars take the colour alone.
    let style = Style {
        bg: theme.base.bg,
        ..lane.style(theme)
    }
    .remove_modifier(Modifier::REVERSED);
    for (x, &value) in (row.x + gutter..).zip(&columns) {
        let bar = usize::try_from(value * 7 / most.max(1)).unwrap_or(7);
        match buffer.cell_mut((x, row.y)) {
            Some(cell) if value > 0 => cell.set_symbol(BARS[bar.min(7)]).set_style(style),
            _ => continue,
        };
    }
}

/// The seconds under the axis.
pub(super) fn ticks(frame: &mut Frame<'_>, row: Rect, gutter: u16, axis: TimeAxis, theme: &Theme) {
    if row.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    let end = row.x + gutter + axis.columns();
    for second in axis.ticks(9) {
        let label = format!("╵{}", text::clock(second));
        #[allow(clippy::cast_precision_loss)] // seconds of a run
        let Some(column) = axis.column(second as f64) else {
            continue;
        };
        let x = row.x + gutter + column;
        if x + u16::try_from(text::width(&label)).unwrap_or(u16::MAX) <= end {
            buffer.set_string(x, row.y, label, theme.dim);
        }
    }
}
