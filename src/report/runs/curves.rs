//! A chart as numbers: curves of arms over one axis.

use super::group::Runs;
use crate::report::figures::time;
use crate::report::page::{round, round_time, round_times};
use crate::report::table::{Cell, Head, Table};
use lockstorm_data::metrics::{NotAHistogram, units};

/// What the horizontal axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Seconds,
    Percentiles,
}

/// A chart: curves of arms over one axis.
pub(super) struct Curves {
    /// The name of its file.
    pub name: &'static str,
    pub title: String,
    /// What the values are counted in.
    pub unit: &'static str,
    pub axis: Axis,
    /// From where until where the axis goes.
    pub range: (f64, f64),
    /// The distance of neighbours on a curve.
    pub step: f64,
    /// The curves of the arms that have one.
    pub lines: Vec<Line>,
    /// Whether the values stand on a logarithmic axis. They are times in seconds then.
    pub is_log: bool,
    /// The largest value that there can be.
    pub most: Option<f64>,
    /// The round values of the horizontal axis and how they are written.
    pub across: Vec<(f64, String)>,
    /// The spans that are shaded, of all runs.
    pub shades: Vec<(f64, f64)>,
    /// How many runs it shows.
    pub runs: usize,
}

/// The curve of an arm.
pub(super) struct Line {
    /// The arm's position.
    pub arm: usize,
    pub spots: Vec<Spot>,
}

/// A value on a curve, with the range that it has in several runs.
pub(super) struct Spot {
    pub at: f64,
    pub value: f64,
    pub range: (f64, f64),
}

impl Curves {
    /// The time to get a lock by percentile, over all of these runs.
    ///
    /// # Errors
    /// A text is not a histogram: another program wrote the record.
    pub fn by_percentile(runs: &Runs) -> Result<Self, NotAHistogram> {
        let mut lines = Vec::new();
        for index in 0..runs.first().arms.len() {
            let all = runs.acquired(index)?;
            // A percentile needs values beyond it.
            let most = (all.len() as f64 / 10.0).log10();
            let places = (0..=40_u32)
                .map(|step| f64::from(step) / 10.0)
                .filter(|nines| *nines <= most);
            let spot = |nines: f64| {
                let value = all.value_at_quantile(1.0 - 10_f64.powf(-nines)) as f64 / 1e6;
                Spot {
                    at: nines,
                    value,
                    range: (value, value),
                }
            };
            let spots: Vec<Spot> = places.map(spot).filter(|spot| spot.value > 0.0).collect();
            if spots.len() > 1 {
                lines.push(Line { arm: index, spots });
            }
        }
        let across = [
            (0.301, "50 %"),
            (1.0, "90 %"),
            (2.0, "99 %"),
            (3.0, "99.9 %"),
            (4.0, "99.99 %"),
        ];
        let until = lines
            .iter()
            .flat_map(|line| &line.spots)
            .map(|spot| spot.at)
            .fold(1.0, f64::max);
        Ok(Self {
            name: "percentiles",
            title: "Time to get a lock, by percentile".to_owned(),
            unit: "",
            axis: Axis::Percentiles,
            range: (0.0, until),
            step: 0.1,
            lines,
            is_log: true,
            most: None,
            across: across.map(|(at, name)| (at, name.to_owned())).to_vec(),
            shades: Vec::new(),
            runs: 1,
        })
    }

    /// All places at which a curve has a value.
    pub fn places(&self) -> Vec<f64> {
        let all = self.lines.iter().flat_map(|line| &line.spots);
        let mut places: Vec<f64> = all.map(|spot| spot.at).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// How a value is written.
    fn write(&self, value: f64) -> String {
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

    /// The numbers of the chart: a row for each of its places, a column for each arm.
    pub fn table(&self, names: &[String]) -> Table {
        let (title, place): (_, &dyn Fn(f64) -> String) = match self.axis {
            // A value is that of some seconds, and these begin here. There is no negative zero.
            Axis::Seconds => ("second", &|at| format!("{}", (at - self.step / 2.0).round() + 0.0)),
            Axis::Percentiles => ("percentile", &|nines| {
                format!("{:.3} %", 100.0 * (1.0 - 10_f64.powf(-nines)))
            }),
        };
        let mut head = vec![Head::new(title)];
        head.extend(self.lines.iter().map(|line| Head::new(&names[line.arm])));
        let cell = |line: &Line, at: f64| {
            let found = line.spots.iter().find(|spot| spot.at.total_cmp(&at).is_eq());
            found.map_or_else(Cell::none, |spot| {
                let [value, least, most] = [spot.value, spot.range.0, spot.range.1].map(|value| self.write(value));
                Cell::plain(if least == most {
                    value
                } else {
                    format!("{value} ({least} – {most})")
                })
            })
        };
        let row = |at: f64| {
            let mut cells = vec![Cell::plain(place(at))];
            cells.extend(self.lines.iter().map(|line| cell(line, at)));
            cells
        };
        Table {
            head,
            rows: self.places().into_iter().map(row).collect(),
        }
    }
}

/// Round values from 0 up to this one.
fn linear(most: f64) -> Vec<f64> {
    let steps = round((most / 12.0, most), 9);
    let step = steps.into_iter().find(|step| most / step <= 6.0).unwrap_or(most);
    // Counts are whole.
    let all = (0..100_u32).map(|n| f64::from(n) * step.max(1.0));
    all.take_while(|value| *value <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::Time;

    #[test]
    fn the_curve_of_percentiles_is_that_of_the_histogram() {
        let text = include_str!("../../../tests/fuzz/seeds/record/short-run.json");
        let runs = Runs::of(vec![(String::new(), serde_json::from_str(text).expect("a record"))]).expect("runs");
        let curves = Curves::by_percentile(&runs).expect("histograms");
        assert!(!curves.lines.is_empty());
        for line in &curves.lines {
            let all = runs.first().arms[line.arm]
                .histogram(Time::Acquired)
                .expect("a histogram");
            let p90 = line
                .spots
                .iter()
                .find(|spot| (spot.at - 1.0).abs() < 1e-9)
                .expect("90 %");
            assert!((p90.value - all.value_at_quantile(0.9) as f64 / 1e6).abs() < 1e-9);
        }
    }

    #[test]
    fn axes_have_round_values_from_0_on() {
        assert_eq!(linear(23.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(linear(1.0), [0.0, 1.0], "counts are whole");
        assert_eq!(linear(400.0), [0.0, 100.0, 200.0, 300.0, 400.0]);
    }
}
