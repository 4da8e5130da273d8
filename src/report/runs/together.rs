//! Several runs laid over each other, so that their first faults coincide.

use std::collections::BTreeMap;

use super::curves::{Axis, Curves, Line, Spot};
use crate::report::page::round_time;
use lockstorm_data::facts::EventKind;
use lockstorm_data::metrics::{Point, units};
use lockstorm_data::model::Action;
use lockstorm_run::Record;

/// The most points of a curve; of longer runs several seconds are one.
const MOST: usize = 120;

/// What a chart shows of some seconds of an arm; `None` where there is nothing to show.
pub(super) type Value<'a> = &'a dyn Fn(&[&Point]) -> Option<f64>;

/// Runs that are laid over each other.
#[derive(Clone, Copy)]
pub(super) struct Together<'a> {
    runs: &'a [Record],
    /// The seconds of a point.
    seconds: i64,
    is_sum: bool,
}

impl<'a> Together<'a> {
    pub fn of(runs: &'a [Record]) -> Self {
        let longest = runs.iter().map(|run| run.elapsed).fold(1.0, f64::max);
        let seconds = units::rounded((longest / MOST as f64).ceil()).max(1);
        Self {
            runs,
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
            is_sum: false,
        }
    }

    /// The same, with the sum until then at each place.
    pub const fn summed(self) -> Self {
        Self { is_sum: true, ..self }
    }

    /// A curve of this value for each arm that has any.
    pub fn curves(&self, name: &'static str, title: &str, unit: &'static str, value: Value<'_>) -> Curves {
        let arms = 0..self.runs.first().map_or(0, |run| run.arms.len());
        let lines: Vec<Line> = arms.filter_map(|arm| self.line(arm, value)).collect();
        let ends = |end: fn(&(f64, f64)) -> f64| self.runs.iter().map(|run| end(&self.reach(run))).collect::<Vec<_>>();
        let from = ends(|reach| reach.0).into_iter().fold(0.0, f64::min);
        let until = ends(|reach| reach.1).into_iter().fold(1.0, f64::max);
        let moved = |run: &Record| {
            let by = self.origin(run) as f64;
            faults(run)
                .map(move |(since, ended)| (since - by, ended - by))
                .collect::<Vec<_>>()
        };
        Curves {
            name,
            title: title.to_owned(),
            unit,
            axis: Axis::Seconds,
            range: (from, until),
            step: self.seconds as f64,
            lines,
            is_log: false,
            most: None,
            across: across(from, until),
            shades: self.runs.iter().flat_map(moved).collect(),
            runs: self.runs.len(),
        }
    }

    /// The second that is 0 of the axis: of several runs that of the first fault.
    fn origin(&self, run: &Record) -> i64 {
        let first = faults(run).map(|(since, _)| since).fold(f64::INFINITY, f64::min);
        if self.runs.len() == 1 || first.is_infinite() {
            return 0;
        }
        i64::try_from(units::rounded(first.floor())).unwrap_or(0)
    }

    /// From where until where a run goes on the axis.
    fn reach(&self, run: &Record) -> (f64, f64) {
        let origin = self.origin(run) as f64;
        (-origin, run.elapsed - origin)
    }

    /// The curve of an arm: the median of the runs' values, with their range, where at least half of them have one.
    fn line(&self, arm: usize, value: Value<'_>) -> Option<Line> {
        let mut bins: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for run in self.runs {
            let origin = self.origin(run);
            let points = run.arms.get(arm)?.series.iter();
            let points: Vec<&Point> = points.filter(|point| point.time >= 0).collect();
            let bin = |point: &Point| (point.time - origin).div_euclid(self.seconds);
            let mut sum = 0.0;
            for part in points.chunk_by(|one, next| bin(one) == bin(next)) {
                if let (Some(first), Some(value)) = (part.first(), value(part)) {
                    sum += value;
                    let value = if self.is_sum { sum } else { value };
                    bins.entry(bin(first)).or_default().push(value);
                }
            }
        }
        let spot = |(bin, mut values): (i64, Vec<f64>)| {
            values.sort_by(f64::total_cmp);
            let range = (*values.first()?, *values.last()?);
            let value = units::median(&values)?;
            (2 * values.len() >= self.runs.len()).then_some(Spot {
                at: (bin as f64 + 0.5) * self.seconds as f64,
                value,
                range,
            })
        };
        let spots: Vec<Spot> = bins.into_iter().filter_map(spot).collect();
        (!spots.is_empty()).then_some(Line { arm, spots })
    }
}

/// Round times of an axis.
fn across(from: f64, until: f64) -> Vec<(f64, String)> {
    let mut steps = [1, 2, 5, 10, 30, 60, 300, 600].into_iter().map(f64::from);
    let every = steps.find(|step| (until - from) / step <= 9.0).unwrap_or(3600.0);
    let written = |at: f64| match at {
        at if at > 0.0 => round_time(at),
        at if at < 0.0 => format!("−{}", round_time(-at)),
        _ => "0".to_owned(),
    };
    let all = (-100..100_i32).map(|n| f64::from(n) * every);
    all.filter(|at| (from..=until).contains(at))
        .map(|at| (at, written(at)))
        .collect()
}

/// Since when and until when each fault lasted.
fn faults(record: &Record) -> impl Iterator<Item = (f64, f64)> {
    let ended = |id: u64| {
        record.events.iter().find_map(|event| match &event.kind {
            EventKind::Fault {
                ends: Some(fault),
                effect_at: Some(at),
                ..
            } if *fault == id => Some(*at),
            _ => None,
        })
    };
    let begun = record.events.iter().filter_map(|event| match &event.kind {
        EventKind::Fault {
            action: Action::Fault(_),
            effect_at: Some(at),
            ..
        } => Some((event.id, *at)),
        _ => None,
    });
    begun
        .map(move |(id, at)| (at, ended(id).unwrap_or(record.elapsed).min(record.elapsed)))
        .filter(|(at, until)| at < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_are_laid_over_each_other_at_their_first_fault() {
        let text = include_str!("../../../tests/fuzz/seeds/record/short-run.json");
        let [first, mut later]: [Record; 2] = [(); 2].map(|()| serde_json::from_str(text).expect("a record"));
        for event in &mut later.events {
            if let EventKind::Fault {
                effect_at: Some(at), ..
            } = &mut event.kind
            {
                *at += 1.0;
            }
        }
        let runs = [first, later];
        let count = |bin: &[&Point]| Some(bin.iter().map(|point| point.answered).sum::<u64>() as f64);
        let answered = Together::of(&runs).curves("answered", "", "", &count);
        let points = |second: i64| {
            let points = runs[0].arms[0].series.iter();
            points
                .filter(|point| point.time == second)
                .map(|point| point.answered as f64)
                .sum::<f64>()
        };
        // The later one is a second ahead: its second 1 meets the second 0 of the first.
        let spot = answered.lines[0]
            .spots
            .iter()
            .find(|spot| (spot.at - 0.5).abs() < 1e-9)
            .expect("second 0");
        let mut both = [points(0), points(1)];
        both.sort_by(f64::total_cmp);
        let median = f64::midpoint(both[0], both[1]);
        assert_eq!((spot.range, spot.value), ((both[0], both[1]), median));
        assert!(answered.range.0 < 0.0 && answered.across.iter().any(|(_, name)| name == "0"));
    }
}
