//! What happened in the runs second by second, as curves.

use std::collections::BTreeMap;

use super::curves::{Axis, Curves, Line, Spot};
use crate::report::page::round_time;
use crate::report::story::by_second;
use lockstorm_data::metrics::{Metric, Point, Time, units};
use lockstorm_data::model::{Action, EventKind};
use lockstorm_run::Record;

/// The most points of a curve; of longer runs several seconds are one.
const MOST: usize = 120;

/// What a chart shows of some seconds of an arm; `None` where there is nothing to show.
type Value<'a> = &'a dyn Fn(&[&Point]) -> Option<f64>;

/// The charts over time: how long acquires took by their outcome, how many were granted, the requests that were answered, the damage
/// until then. Several runs are laid over each other so that their first faults coincide, to the second.
pub(super) fn over_time(runs: &[Record], cost: Metric) -> Vec<Curves> {
    let together = Together::of(runs);
    let mut all = Vec::new();
    for (time, name, title) in [
        (Time::Acquired, "acquired", "Time to get a lock, p99 of each second"),
        (
            Time::Contended,
            "contended",
            "Time until somebody else was found to hold it, p99",
        ),
        (Time::NoQuorum, "no-quorum", "Time until refused for lack of nodes, p99"),
        (Time::Unknown, "unknown", "Time until given up without knowing, p99"),
    ] {
        let p99 = |bin: &[&Point]| {
            let worst = bin.iter().map(|point| point.times[time].p99).max()?;
            (worst > 0).then_some(f64::from(worst) / 1e6)
        };
        all.push(Curves {
            is_log: true,
            ..together.curves(name, title, "", &p99)
        });
    }
    let granted = |bin: &[&Point]| {
        let sum = |of: fn(&Point) -> u64| bin.iter().map(|point| of(point)).sum::<u64>() as f64;
        let refused = sum(|point| point.outcomes.no_quorum + point.outcomes.unknown + point.outcomes.expired);
        let granted = sum(|point| point.outcomes.acquired);
        (granted + refused > 0.0).then_some(100.0 * granted / (granted + refused))
    };
    let answered = |bin: &[&Point]| Some(bin.iter().map(|point| point.answered).sum::<u64>() as f64 / bin.len() as f64);
    let damage = |bin: &[&Point]| Some(bin.iter().filter_map(|point| point.of(cost)).sum::<u64>() as f64);
    all.push(Curves {
        most: Some(100.0),
        ..together.curves(
            "available",
            "Granted, of the acquires that were not contended",
            "%",
            &granted,
        )
    });
    all.push(together.curves("answered", "Requests answered", "a second", &answered));
    let until_then = format!("Damage until then: {}", by_second(cost));
    let damage = together.summed().curves("damage", &until_then, "", &damage);
    let is_any = damage
        .lines
        .iter()
        .flat_map(|line| &line.spots)
        .any(|spot| spot.range.1 > 0.0);
    all.extend(is_any.then_some(damage));
    all.retain(|curves| !curves.lines.is_empty());
    all
}

/// Runs that are laid over each other.
#[derive(Clone, Copy)]
struct Together<'a> {
    runs: &'a [Record],
    /// The seconds of a point.
    seconds: i64,
    is_sum: bool,
}

impl<'a> Together<'a> {
    fn of(runs: &'a [Record]) -> Self {
        let longest = runs.iter().map(|run| run.elapsed).fold(1.0, f64::max);
        let seconds = units::rounded((longest / MOST as f64).ceil()).max(1);
        Self {
            runs,
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
            is_sum: false,
        }
    }

    /// The same, with the sum until then at each place.
    const fn summed(self) -> Self {
        Self { is_sum: true, ..self }
    }

    fn curves(&self, name: &'static str, title: &str, unit: &'static str, value: Value<'_>) -> Curves {
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

    /// The curve of an arm: the middle one of the runs' values, with their range, where at least half of them have one.
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
            (2 * values.len() >= self.runs.len()).then(|| Spot {
                at: (bin as f64 + 0.5) * self.seconds as f64,
                value: values[(values.len() - 1) / 2],
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

    fn record() -> Record {
        let text = include_str!("../../../tests/fuzz/seeds/record/short-run.json");
        serde_json::from_str(text).expect("a record")
    }

    #[test]
    fn charts_show_what_the_record_has() {
        let runs = [record()];
        let charts = over_time(&runs, Metric::LostUpdates);
        let answered = charts.iter().find(|curves| curves.title == "Requests answered");
        for line in &answered.expect("this chart").lines {
            let drawn: f64 = line.spots.iter().map(|spot| spot.value).sum();
            let points = runs[0].arms[line.arm].series.iter().filter(|point| point.time >= 0);
            let counted: u64 = points.map(|point| point.answered).sum();
            assert!((drawn - counted as f64).abs() < 1e-6, "{drawn} for {counted}");
        }
    }

    #[test]
    fn several_runs_are_laid_over_each_other_at_their_first_fault() {
        let mut later = record();
        for event in &mut later.events {
            if let EventKind::Fault {
                effect_at: Some(at), ..
            } = &mut event.kind
            {
                *at += 1.0;
            }
        }
        let runs = [record(), later];
        let charts = over_time(&runs, Metric::LostUpdates);
        let answered = charts
            .iter()
            .find(|curves| curves.name == "answered")
            .expect("this chart");
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
        assert_eq!((spot.range, spot.value), ((both[0], both[1]), both[0]));
        assert!(answered.range.0 < 0.0 && answered.across.iter().any(|(_, name)| name == "0"));
    }
}
