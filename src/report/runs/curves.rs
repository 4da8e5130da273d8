//! What the charts of a run show, as numbers.

use crate::report::figures::time;
use crate::report::page::{round, round_time, round_times};
use crate::report::story::by_second;
use crate::report::table::{Cell, Table};
use lockstorm_data::metrics::{Metric, NotAHistogram, Point, Time, units};
use lockstorm_data::model::{Action, EventKind};
use lockstorm_run::Record;

/// The most points of a curve; of a longer run several seconds are one.
const MOST: usize = 120;

/// A chart: curves of arms over one axis.
pub(super) struct Curves {
    pub title: String,
    /// What the values are counted in.
    pub unit: &'static str,
    /// What the places on the horizontal axis are, and how one is written.
    pub places: (&'static str, fn(f64) -> String),
    /// The distance of neighbours on a curve.
    pub step: f64,
    /// The curves of the arms that have one, by the arm's position.
    pub lines: Vec<(usize, Vec<(f64, f64)>)>,
    /// Whether the values stand on a logarithmic axis. They are times in seconds then.
    pub is_log: bool,
    /// The round values of the horizontal axis and how they are written.
    pub across: Vec<(f64, String)>,
    /// The spans that are shaded, in units of the horizontal axis.
    pub shades: Vec<(f64, f64)>,
}

impl Curves {
    /// What happened second by second: the time to get a lock, the requests that were answered, the damage until then.
    pub fn over_time(record: &Record, cost: Metric) -> Vec<Self> {
        let shades = shades(record);
        let bins = record.elapsed.ceil().max(1.0) / MOST as f64;
        let seconds = units::place(bins.ceil()).max(1);
        let across = || {
            let mut steps = [1, 2, 5, 10, 30, 60, 300, 600].into_iter().map(f64::from);
            let every = steps.find(|step| record.elapsed / step <= 9.0).unwrap_or(3600.0);
            let ticks = multiples(every, record.elapsed).into_iter();
            ticks
                .map(|at| (at, if at > 0.0 { round_time(at) } else { "0".to_owned() }))
                .collect()
        };
        let of = |title: String, unit, is_log, value: &dyn Fn(&[&Point]) -> Option<f64>| {
            let lines = record.arms.iter().enumerate().filter_map(|(index, arm)| {
                let points: Vec<&Point> = arm.series.iter().filter(|point| point.time >= 0).collect();
                let mut line = Vec::new();
                for bin in points.chunks(seconds) {
                    let (first, upto) = (bin.first()?, bin.last()?);
                    let at = f64::midpoint(first.time as f64, upto.time as f64 + 1.0);
                    line.extend(value(bin).map(|value| (at, value)));
                }
                (!line.is_empty()).then_some((index, line))
            });
            Self {
                title,
                unit,
                step: seconds as f64,
                places: ("second", |at| format!("{}", at.floor())),
                lines: lines.collect(),
                is_log,
                across: across(),
                shades: shades.clone(),
            }
        };
        let p99 = |bin: &[&Point]| {
            let worst = bin.iter().map(|point| point.times[Time::Acquired].p99).max()?;
            (worst > 0).then_some(f64::from(worst) / 1e6)
        };
        let answered =
            |bin: &[&Point]| Some(bin.iter().map(|point| point.answered).sum::<u64>() as f64 / bin.len() as f64);
        let mut all = vec![
            of("Time to get a lock, p99 of each second".to_owned(), "", true, &p99),
            of("Requests answered".to_owned(), "a second", false, &answered),
        ];
        if record
            .arms
            .iter()
            .any(|arm| arm.series.iter().any(|point| point.of(cost).unwrap_or(0) > 0))
        {
            let each = |bin: &[&Point]| Some(bin.iter().filter_map(|point| point.of(cost)).sum::<u64>() as f64);
            let mut damage = of(format!("{}, in all until then", by_second(cost)), "", false, &each);
            for (_, line) in &mut damage.lines {
                let mut sum = 0.0;
                for (_, value) in line {
                    sum += *value;
                    *value = sum;
                }
            }
            all.push(damage);
        }
        all.retain(|curves| !curves.lines.is_empty());
        all
    }

    /// The time to get a lock by percentile, over all of these runs.
    pub fn by_percentile(runs: &[Record]) -> Result<Self, NotAHistogram> {
        let mut lines = Vec::new();
        for index in 0..runs.first().map_or(0, |record| record.arms.len()) {
            let mut all = lockstorm_data::metrics::histogram();
            for arm in runs.iter().filter_map(|record| record.arms.get(index)) {
                // The histogram resizes itself, so no value is out of range.
                let _ = all.add(arm.histogram(Time::Acquired)?);
            }
            // A percentile needs values beyond it.
            let most = (all.len() as f64 / 10.0).log10();
            let places = (0..=40_u32)
                .map(|step| f64::from(step) / 10.0)
                .filter(|nines| *nines <= most);
            let at = |nines: f64| (nines, all.value_at_quantile(1.0 - 10_f64.powf(-nines)) as f64 / 1e6);
            let line: Vec<(f64, f64)> = places.map(at).filter(|(_, value)| *value > 0.0).collect();
            if line.len() > 1 {
                lines.push((index, line));
            }
        }
        let across = [
            (0.301, "50 %"),
            (1.0, "90 %"),
            (2.0, "99 %"),
            (3.0, "99.9 %"),
            (4.0, "99.99 %"),
        ];
        Ok(Self {
            title: "Time to get a lock, by percentile".to_owned(),
            unit: "",
            step: 0.1,
            places: ("percentile", |nines| {
                format!("{:.3} %", 100.0 * (1.0 - 10_f64.powf(-nines)))
            }),
            lines,
            is_log: true,
            across: across.map(|(at, name)| (at, name.to_owned())).to_vec(),
            shades: Vec::new(),
        })
    }

    /// How a value is written.
    pub fn write(&self, value: f64) -> String {
        if self.is_log { time(value) } else { units::mean(value) }
    }

    /// The round values of the vertical axis, within this range.
    pub fn up(&self, range: (f64, f64)) -> Vec<(f64, String)> {
        let ticks = if self.is_log {
            round_times(range, 6)
        } else {
            linear(range.1)
        };
        let written = |value: f64| {
            let words = if self.is_log {
                round_time(value)
            } else {
                units::short_count(units::rounded(value))
            };
            (value, words)
        };
        ticks.into_iter().map(written).collect()
    }

    /// The numbers of the chart: a row for each place on the horizontal axis, a column for each arm.
    pub fn table(&self, names: &[&str]) -> Table {
        let mut places: Vec<f64> = self
            .lines
            .iter()
            .flat_map(|(_, line)| line.iter().map(|(at, _)| *at))
            .collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let (head, write) = self.places;
        let mut titles = vec![head.to_owned()];
        titles.extend(self.lines.iter().map(|(arm, _)| names[*arm].to_owned()));
        let row = |at: &f64| {
            let mut cells = vec![Cell::plain(write(*at))];
            cells.extend(self.lines.iter().map(|(_, line)| {
                let found = line.iter().find(|(there, _)| there.total_cmp(at).is_eq());
                found.map_or_else(Cell::none, |(_, value)| Cell::plain(self.write(*value)))
            }));
            cells
        };
        Table {
            head: titles,
            rows: places.iter().map(row).collect(),
        }
    }
}

/// Round values from 0 up to this one.
fn linear(most: f64) -> Vec<f64> {
    let steps = round((most / 12.0, most), 9);
    let step = steps.into_iter().find(|step| most / step <= 6.0).unwrap_or(most);
    // Counts are whole.
    multiples(step.max(1.0), most)
}

/// A hundred multiples of a step at most, from 0 up to this.
fn multiples(step: f64, most: f64) -> Vec<f64> {
    let all = (0..100_u32).map(|n| f64::from(n) * step);
    all.take_while(|value| *value <= most).collect()
}

/// Since when and until when a fault lasted.
fn shades(record: &Record) -> Vec<(f64, f64)> {
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
        .map(|(id, at)| (at, ended(id).unwrap_or(record.elapsed).min(record.elapsed)))
        .filter(|(at, until)| at < until)
        .collect()
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
        let record = record();
        let charts = Curves::over_time(&record, Metric::LostUpdates);
        let answered = charts.iter().find(|curves| curves.title == "Requests answered");
        for (arm, line) in &answered.expect("this chart").lines {
            let drawn: f64 = line.iter().map(|(_, value)| value).sum();
            let points = record.arms[*arm].series.iter().filter(|point| point.time >= 0);
            let counted: u64 = points.map(|point| point.answered).sum();
            assert!((drawn - counted as f64).abs() < 1e-6, "{drawn} for {counted}");
        }
        let runs = [record];
        let curves = Curves::by_percentile(&runs).expect("histograms");
        for (arm, line) in &curves.lines {
            let all = runs[0].arms[*arm].histogram(Time::Acquired).expect("a histogram");
            let (_, p90) = line.iter().find(|(nines, _)| (nines - 1.0).abs() < 1e-9).expect("90 %");
            assert!((p90 - all.value_at_quantile(0.9) as f64 / 1e6).abs() < 1e-9);
        }
    }

    #[test]
    fn axes_have_round_values_from_0_on() {
        assert_eq!(linear(23.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(linear(1.0), [0.0, 1.0], "counts are whole");
        assert_eq!(linear(400.0), [0.0, 100.0, 200.0, 300.0, 400.0]);
    }
}
