//! Latency over time on a logarithmic axis: the median and the 99th percentile of an arm, in braille.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::app::App;
use crate::console::axis::TimeAxis;
use crate::console::plot::Dots;
use crate::console::samples::{held, samples};
use crate::console::text;
use lockstorm_data::metrics::{Latency, Point, Time};
use lockstorm_run::{ArmView, Snapshot};

use super::timeline::FaultMark;

/// Which latency is charted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The latency of granted acquires.
    Acquire,
    /// The response time of requests, for arms without a lock.
    Response,
}

impl Source {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquire => "grant latency",
            Self::Response => "response time",
        }
    }

    fn of(self, point: &Point) -> (u64, u64) {
        let Latency { p50, p99 } = match self {
            Self::Acquire => point.times[Time::Acquired],
            Self::Response => point.times[Time::Response],
        };
        (p50.into(), p99.into())
    }
}

/// What is charted for the arm at this position.
pub(super) fn source(snapshot: &Snapshot, arm: usize) -> Source {
    match snapshot.scenario.arms.get(arm) {
        Some(arm) if !arm.lock.is_some() => Source::Response,
        _ => Source::Acquire,
    }
}

/// The powers of ten (of microseconds) between which all values lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decades {
    low: u32,
    high: u32,
}

impl Decades {
    fn of(values: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let bounds = |bounds: Option<(u64, u64)>, (p50, p99): (u64, u64)| {
            let (low, high) = bounds.unwrap_or((p50, p99));
            Some((low.min(p50), high.max(p99)))
        };
        let (low, high) = values.filter(|&(p50, p99)| p50 > 0 && p99 > 0).fold(None, bounds)?;
        let low = low.ilog10();
        let above = high.checked_ilog10().unwrap_or(0);
        let high = if 10_u64.pow(above) == high { above } else { above + 1 };
        Some(Self {
            low,
            high: high.max(low + 1),
        })
    }

    /// The dot of a value, counted from the bottom of `dots` dots.
    fn dot(self, us: u64, dots: u16) -> u16 {
        let part = ((us.max(1) as f64).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and dots − 1"
        )]
        let dot = (part.clamp(0.0, 1.0) * f64::from(dots.saturating_sub(1))).round() as u16;
        dot
    }

    /// The powers that get a label, evenly spaced, each with its row, counted from the bottom of `dots` dots.
    fn labels(self, dots: u16) -> Vec<(u32, u16)> {
        let every = |step: usize| -> Vec<(u32, u16)> {
            let powers = (self.low..=self.high).step_by(step);
            powers
                .map(|power| (power, self.dot(10_u64.pow(power), dots) / 4))
                .collect()
        };
        let apart = |labels: &Vec<(u32, u16)>| labels.windows(2).all(|two| two[0].1 < two[1].1);
        let mut steps = (1..).map(every);
        // A single label always has room.
        steps.find(apart).unwrap_or_default()
    }

    fn label(power: u32) -> String {
        match power {
            0..3 => format!("{} µs", 10_u32.pow(power)),
            3..6 => format!("{} ms", 10_u32.pow(power - 3)),
            _ => format!("{} s", 10_u64.pow(power - 6)),
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a picture of many things in one place")]
pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    gutter: u16,
    axis: TimeAxis,
    app: &App,
    arm: &ArmView,
    source: Source,
    marks: &[FaultMark],
) {
    let theme = &app.theme;
    let plot = Rect {
        x: area.x + gutter,
        width: axis.columns(),
        ..area
    }
    .intersection(area);
    if plot.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    for column in marks.iter().filter_map(|mark| axis.column(mark.at)) {
        for y in plot.top()..plot.bottom() {
            put(buffer, plot.x + column, y, "┊", theme.warn);
        }
    }
    let fine = axis.doubled();
    let mut shown: Vec<_> = samples(arm, fine)
        .filter(|sample| source.of(&sample.point).1 > 0)
        .collect();
    held(&mut shown);
    let Some(decades) = Decades::of(shown.iter().map(|sample| source.of(&sample.point))) else {
        let nothing = text::fit("no acquire was granted in this window", usize::from(plot.width));
        let y = plot.y + plot.height / 2;
        frame.render_widget(
            Line::styled(nothing, theme.dim).centered(),
            Rect { y, height: 1, ..plot },
        );
        return;
    };
    let mut dots = Dots::new(plot);
    scale(buffer, area, plot, decades, dots.height(), app);
    // Where several values share a column, the worst is shown.
    let mut columns: Vec<Option<(u64, u64)>> = vec![None; usize::from(fine.columns())];
    for sample in shown {
        let (p50, p99) = source.of(&sample.point);
        let Some(range) = fine.tenths(sample.time) else {
            continue;
        };
        for column in &mut columns[usize::from(range.start)..usize::from(range.end)] {
            let (worst50, worst99) = column.unwrap_or_default();
            *column = Some((p50.max(worst50), p99.max(worst99)));
        }
    }
    let height = dots.height();
    let at = |us| decades.dot(us, height);
    // With few rows, a thick line would hide the other one.
    let thick = plot.height >= 6;
    let p50 = columns.iter().map(|both| both.map(|(p50, _)| at(p50)));
    dots.line(p50, false, theme.p50);
    let p99 = columns.iter().map(|both| both.map(|(_, p99)| at(p99)));
    dots.line(p99, thick, theme.p99);
    dots.draw(buffer);
}

/// Draws the labels in the gutter, each in the row of its decade, with a faint line. If there are too few rows for all,
/// every second or third decade gets a label.
fn scale(buffer: &mut Buffer, area: Rect, plot: Rect, decades: Decades, dots: u16, app: &App) {
    let theme = &app.theme;
    let width = usize::from(plot.x - area.x).saturating_sub(1);
    for (power, row) in decades.labels(dots) {
        let y = plot.bottom() - 1 - row;
        buffer.set_string(area.x, y, text::right(&Decades::label(power), width), theme.dim);
        for x in (plot.left()..plot.right()).step_by(4) {
            let free = buffer.cell((x, y)).is_some_and(|cell| cell.symbol() == " ");
            if free {
                put(buffer, x, y, "·", theme.dim);
            }
        }
    }
}

fn put(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: ratatui::style::Style) {
    if let Some(cell) = buffer.cell_mut((x, y)) {
        cell.set_symbol(symbol).set_style(style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_hold_every_value() {
        assert_eq!(
            Decades::of([(400, 2_100), (300, 61_000)].into_iter()),
            Some(Decades { low: 2, high: 5 })
        );
        assert_eq!(
            Decades::of([(1_000, 1_000)].into_iter()),
            Some(Decades { low: 3, high: 4 })
        );
        assert_eq!(Decades::of([(0, 0)].into_iter()), None);
    }

    #[test]
    fn labels_are_where_their_decades_are_at_any_height() {
        for height in 1..40_u16 {
            for decades in [(2, 3), (2, 6), (0, 8)].map(|(low, high)| Decades { low, high }) {
                let labels = decades.labels(height * 4);
                assert_eq!(labels[0], (decades.low, 0), "the lowest is always there");
                for two in labels.windows(2) {
                    assert!(two[0].1 < two[1].1, "one to a row: {labels:?}");
                    assert_eq!(two[1].0 - two[0].0, labels[1].0 - labels[0].0, "evenly: {labels:?}");
                }
                for (power, row) in labels {
                    assert_eq!(row, decades.dot(10_u64.pow(power), height * 4) / 4);
                }
            }
        }
        let four = Decades { low: 2, high: 6 };
        assert_eq!(four.labels(16), [(2, 0), (4, 2), (6, 3)], "too few rows: every second");
        assert_eq!(four.labels(20).len(), 5);
    }

    #[test]
    fn values_lie_between_their_decades() {
        let decades = Decades { low: 2, high: 5 };
        assert_eq!(
            [100, 1_000, 10_000, 100_000].map(|us| decades.dot(us, 31)),
            [0, 10, 20, 30]
        );
        assert_eq!(decades.dot(9_999_999, 31), 30);
    }
}
