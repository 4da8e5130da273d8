//! When a lock worked, when it did not, and when it cost something: one line of an axis of time that all locks share.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::timeline;
use crate::console::app::App;
use crate::console::axis::{TimeAxis, WINDOWS};
use crate::console::plot::BARS;
use crate::console::samples::samples;
use crate::console::text;
use crate::console::theme::Theme;
use crate::report::Moment;
use lockstorm_data::metrics::units::place;
use lockstorm_data::metrics::{Metric, Point};
use lockstorm_run::Snapshot;

/// Granting, unavailable, cost, fault.
const SIGNS: [&str; 4] = ["━", "╌", "▇", "┊"];

/// What a column shows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Column {
    granting: bool,
    refused: bool,
    /// Per second.
    cost: f64,
}

/// The courses of all arms.
pub(super) struct Course {
    pub axis: TimeAxis,
    arms: Vec<Vec<Column>>,
    /// The largest cost of any arm.
    most: f64,
    metric: Metric,
    /// When faults took effect, with their letters.
    marks: Vec<timeline::FaultMark>,
    /// The column of this moment, while the run goes on.
    now: Option<u16>,
}

impl Course {
    /// The courses on so many columns, for the time that the user has chosen.
    pub fn of(snapshot: &Snapshot, app: &App, columns: u16, told: &[Moment]) -> Self {
        let scenario = &snapshot.scenario;
        let metric = scenario.workload.about().display().cost;
        let duration = i64::try_from(snapshot.length()).unwrap_or(i64::MAX);
        let (longest, _) = WINDOWS[app.window];
        let axis = if longest >= duration {
            TimeAxis::whole(duration, columns.max(1))
        } else {
            TimeAxis::new(longest, snapshot.elapsed, 0, columns.max(1))
        };
        let arms: Vec<Vec<Column>> = snapshot
            .arms
            .iter()
            .map(|arm| {
                let mut all = vec![Column::default(); usize::from(axis.columns())];
                let mut walk = axis.walk();
                let drawn = |point: &Point| (grants(point), point.is_refused(), point.of(metric).unwrap_or(0));
                for sample in samples(arm, axis, drawn) {
                    let Some(range) = walk.tenths(sample.time.clone()) else {
                        continue;
                    };
                    let seconds = (sample.time.end - sample.time.start) as f64 / 10.0;
                    let (grants, is_refused, cost) = sample.value;
                    let cost = cost as f64 / seconds.max(axis.column_length());
                    for column in &mut all[usize::from(range.start)..usize::from(range.end)] {
                        column.granting |= grants;
                        column.refused |= is_refused;
                        column.cost += cost;
                    }
                }
                all
            })
            .collect();
        let most = arms.iter().flatten().map(|column| column.cost).fold(0.0, f64::max);
        let marks = timeline::marks(told);
        let is_on = snapshot.elapsed < duration as f64;
        Self {
            axis,
            arms,
            most,
            metric,
            marks,
            now: axis.column(snapshot.elapsed).filter(|_| is_on),
        }
    }

    /// The letters of the faults, above the axis.
    pub fn letters(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        for (at, letter) in &self.marks {
            if let Some(column) = self.axis.column(*at).filter(|column| *column < area.width)
                && let Some(cell) = frame.buffer_mut().cell_mut((area.x + column, area.y))
            {
                cell.set_char(*letter).set_style(theme.warn);
            }
        }
    }

    /// The course of the arm at this position.
    pub fn row(&self, frame: &mut Frame<'_>, area: Rect, arm: usize, is_control: bool, theme: &Theme) {
        let faults: Vec<u16> = self.marks.iter().filter_map(|(at, _)| self.axis.column(*at)).collect();
        let Some(columns) = self.arms.get(arm) else { return };
        for (x, column) in (0..area.width).zip(columns) {
            let (sign, style) = self.sign(column, faults.contains(&x), is_control, theme);
            let sign = if self.now == Some(x) && sign == " " {
                "▏"
            } else {
                sign
            };
            if let Some(cell) = frame.buffer_mut().cell_mut((area.x + x, area.y)) {
                cell.set_symbol(sign).set_style(style);
            }
        }
    }

    fn sign(&self, column: &Column, is_fault: bool, is_control: bool, theme: &Theme) -> (&'static str, Style) {
        let [granting, unavailable, _, fault] = SIGNS;
        if column.cost > 0.0 {
            // Arms without a lock cost many times more than others, and all have one scale: a logarithmic one.
            let part = column.cost.ln_1p() / self.most.ln_1p().max(f64::MIN_POSITIVE);
            let bar = place((part * 7.0).floor()).min(7);
            let style = match self.metric.is_damage() {
                _ if is_control => theme.dim,
                true => theme.bad_block,
                false => theme.warn,
            };
            return (BARS[bar], style);
        }
        match column {
            _ if is_fault => (fault, theme.warn),
            Column { granting: true, .. } if is_control => (granting, theme.dim),
            Column { granting: true, .. } => (granting, theme.good),
            Column { refused: true, .. } => (unavailable, theme.warn),
            _ => (" ", theme.dim),
        }
    }

    /// The seconds below the axis, and the legend at the left if there is room.
    pub fn foot(&self, frame: &mut Frame<'_>, area: Rect, start: u16, theme: &Theme) {
        let ([granting, unavailable, damage, fault], cost) = (SIGNS, self.metric.title());
        let legend = format!("{granting} granting  {unavailable} unavailable  {damage} {cost}  {fault} fault");
        if text::width(&legend) + 3 <= usize::from(start) {
            let x = area.x + start - 3 - u16::try_from(text::width(&legend)).unwrap_or(0);
            frame.buffer_mut().set_string(x, area.y, legend, theme.dim);
        }
        let end = area.right();
        for second in self.axis.ticks(8) {
            let label = format!("╵{}", text::clock(second));
            let Some(column) = self.axis.column(second as f64) else {
                continue;
            };
            let x = area.x + start + column;
            if x + u16::try_from(text::width(&label)).unwrap_or(u16::MAX) <= end {
                frame.buffer_mut().set_string(x, area.y, label, theme.dim);
            }
        }
    }
}

/// Whether locks were available, or not needed.
const fn grants(point: &Point) -> bool {
    !point.is_refused() && point.outcomes.acquired + point.outcomes.contended + point.answered > 0
}
