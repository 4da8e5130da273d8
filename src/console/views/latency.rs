//! Latency over time on a logarithmic axis, in braille: the 99th percentile of every arm, and the median of the chosen one.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::console::app::App;
use crate::console::axis::TimeAxis;
use crate::console::plot::Dots;
use crate::console::samples::{held, samples};
use crate::console::text;
use crate::report::order;
use lockstorm_data::metrics::{Latency, Metric, Point, Time};
use lockstorm_data::scenario::Expectation;
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

/// Median and 99th percentile of one arm, by columns of dots: two for each column of the axis. Where several values share one, it has the
/// worst.
pub(super) struct Curve<'a> {
    pub name: &'a str,
    pub style: Style,
    pub is_chosen: bool,
    columns: Vec<Option<(u64, u64)>>,
}

impl<'a> Curve<'a> {
    fn of(arm: &'a ArmView, source: Source, fine: TimeAxis, style: Style, is_chosen: bool) -> Self {
        let mut shown: Vec<_> = samples(arm, fine, |point| source.of(point)).collect();
        shown.retain(|sample| sample.value.1 > 0);
        held(&mut shown);
        let mut columns: Vec<Option<(u64, u64)>> = vec![None; usize::from(fine.columns())];
        let mut walk = fine.walk();
        for sample in shown {
            let (p50, p99) = sample.value;
            let Some(range) = walk.tenths(sample.time) else {
                continue;
            };
            for column in &mut columns[usize::from(range.start)..usize::from(range.end)] {
                let (worst50, worst99) = column.unwrap_or_default();
                *column = Some((p50.max(worst50), p99.max(worst99)));
            }
        }
        Self {
            name: &arm.name,
            style,
            is_chosen,
            columns,
        }
    }

    /// Its 99th percentile in this column of the axis.
    pub fn at(&self, column: u16) -> Option<u64> {
        let first = usize::from(column) * 2;
        let both = self.columns.get(first..first + 2)?;
        both.iter().flatten().map(|(_, p99)| *p99).max()
    }
}

/// The curves of all arms that measure the same as the chosen one, which comes first.
pub(super) fn curves<'a>(snapshot: &'a Snapshot, app: &App, axis: TimeAxis) -> Vec<Curve<'a>> {
    let (theme, own) = (&app.theme, source(snapshot, app.arm));
    let others = order(&snapshot.scenario).into_iter().filter(|arm| *arm != app.arm);
    let others = others.filter(|arm| own == Source::Acquire && source(snapshot, *arm) == own);
    let styles = theme.curves.iter().cycle();
    let drawn = [(app.arm, &theme.p99)].into_iter().chain(others.zip(styles));
    drawn
        .filter_map(|(arm, style)| {
            let view = snapshot.arms.get(arm)?;
            Some(Curve::of(view, own, axis.doubled(), *style, arm == app.arm))
        })
        .collect()
}

/// What the scenario expects of a latency that is charted: a bound in microseconds, in words.
pub(super) fn thresholds(snapshot: &Snapshot, arm: usize) -> Vec<(u64, String)> {
    let of: &[Metric] = match source(snapshot, arm) {
        Source::Acquire => &[Metric::AcquireP50, Metric::AcquireP99],
        Source::Response => &[Metric::ResponseP50, Metric::ResponseP99],
    };
    let charted = |expected: &&Expectation| of.contains(&expected.metric) && expected.bound >= 1.0;
    let all = snapshot.scenario.expect.iter().filter(charted);
    all.map(|expected| {
        let words = format!("{} {} {}", expected.arm, expected.metric.title(), expected.text);
        (lockstorm_data::metrics::units::rounded(expected.bound), words)
    })
    .collect()
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

/// Where the curves are drawn.
pub(super) struct Plot {
    pub area: Rect,
    /// The columns of the labels at the left.
    pub gutter: u16,
    pub axis: TimeAxis,
}

impl Plot {
    /// The area without the labels.
    pub fn inside(&self) -> Rect {
        let plot = Rect {
            x: self.area.x + self.gutter,
            width: self.axis.columns(),
            ..self.area
        };
        plot.intersection(self.area)
    }
}

pub(super) fn render(
    frame: &mut Frame<'_>,
    room: &Plot,
    app: &App,
    curves: &[Curve<'_>],
    thresholds: &[(u64, String)],
    marks: &[FaultMark],
) {
    let (theme, plot) = (&app.theme, room.inside());
    if plot.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    for column in marks.iter().filter_map(|(at, _)| room.axis.column(*at)) {
        upright(buffer, plot, column, "┊", theme.warn);
    }
    let bounds = thresholds.iter().map(|(us, _)| (*us, *us));
    let values = || curves.iter().flat_map(|curve| &curve.columns).flatten();
    let Some(decades) = Decades::of(values().copied().chain(bounds)).filter(|_| values().next().is_some()) else {
        let nothing = text::fit("no lock was granted in this time", usize::from(plot.width));
        let y = plot.y + plot.height / 2;
        frame.render_widget(
            Line::styled(nothing, theme.dim).centered(),
            Rect { y, height: 1, ..plot },
        );
        return;
    };
    let mut dots = Dots::new(plot);
    scale(buffer, room.area, plot, decades, dots.height(), app);
    let height = dots.height();
    let at = |us| decades.dot(us, height);
    for (us, words) in thresholds {
        let y = plot.bottom() - 1 - at(*us) / 4;
        for x in (plot.left()..plot.right()).step_by(2) {
            put(buffer, x, y, "╌", theme.accent);
        }
        // Words that curves run through are none.
        if plot.height >= 8 {
            let words = text::fit(&format!("expected: {words} "), usize::from(plot.width));
            buffer.set_string(plot.x, y, words, theme.accent);
        }
    }
    // The chosen one covers the others. With few rows, a thick line would hide what is below it.
    let thick = plot.height >= 6;
    for curve in curves.iter().rev() {
        let p99 = curve.columns.iter().map(|both| both.map(|(_, p99)| at(p99)));
        if curve.is_chosen {
            let p50 = curve.columns.iter().map(|both| both.map(|(p50, _)| at(p50)));
            dots.line(p50, false, theme.p50);
        }
        dots.line(p99, thick && curve.is_chosen, curve.style);
    }
    dots.draw(buffer);
    if let Some(column) = app.cursor.and_then(|at| room.axis.column(at)) {
        upright(buffer, plot, column, "│", theme.strong);
    }
}

/// Draws a line from the top to the bottom.
fn upright(buffer: &mut Buffer, plot: Rect, column: u16, symbol: &str, style: Style) {
    for y in plot.top()..plot.bottom() {
        put(buffer, plot.x + column, y, symbol, style);
    }
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

fn put(buffer: &mut Buffer, x: u16, y: u16, symbol: &str, style: Style) {
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
