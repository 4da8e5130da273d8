//! One arm over time: a point for each second and one for each tenth of a second. Every count goes to its own time, no
//! matter when it is collected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hold_audit::NewDoubles;
use crate::oracle::stock::News;
use lockstorm_data::metrics::{
    Batch, Count, Durations, Latencies, Latency, Part, Point, RecentTenths, Series, Sums, Time, When,
};
use lockstorm_data::model::Outcomes;

/// The series of one arm, and what is needed to go on with it.
#[derive(Debug, Default)]
pub(crate) struct Curves {
    /// The newest seconds and tenths, to which more may still be added.
    seconds: BTreeMap<i64, Slice>,
    tenths: BTreeMap<i64, Slice>,
    /// The tenths that have changed since they were last drawn.
    touched: BTreeSet<i64>,
    pub series: Arc<Series>,
    pub recent_tenths: Arc<RecentTenths>,
    /// Sales and double holds that came after the load had ended.
    judged_after_end: Point,
    /// Whether a dealer deals the requests: then a request is offered when it is due, not when it begins.
    dealt: bool,
    /// The newest second that was reported as ended.
    reported: Option<i64>,
    /// Measured seconds in which nobody got a lock because nodes were missing.
    pub refused_seconds: u64,
}

/// A second, or a tenth of one.
#[derive(Debug, Default)]
struct Slice {
    point: Point,
    /// Those of [`Time::OF_A_POINT`].
    times: [Durations; Time::OF_A_POINT.len()],
}

impl Slice {
    fn add(&mut self, sums: &Sums) {
        count(&mut self.point, sums);
        for (durations, time) in self.times.iter_mut().zip(Time::OF_A_POINT) {
            durations.add(sums.durations(time));
        }
    }

    /// Puts what was counted into its point. The load says what was due (`dealt`), and the ledger what was sold. Without a
    /// dealer, every request that begins was offered.
    fn draw(&self, point: &mut Point, dealt: bool) {
        let begun = self.point.counts[Count::Begun];
        *point = Point {
            time: point.time,
            offered: if dealt { point.offered } else { begun },
            times: latencies(self.times.each_ref()),
            ledger: point.ledger,
            double_holds: point.double_holds,
            double_uses: point.double_uses,
            ..self.point
        };
    }
}

/// Those of [`Time::OF_A_POINT`].
fn latencies(times: [&Durations; Time::OF_A_POINT.len()]) -> Latencies {
    let mut all = Latencies::default();
    for (time, durations) in Time::OF_A_POINT.into_iter().zip(times) {
        all[time] = Latency::from(durations.quantiles());
    }
    all
}

/// Adds the sums to a point, except for what judges find.
fn count(point: &mut Point, sums: &Sums) {
    point.outcomes.add(&sums.outcomes);
    point.counts.add(&sums.counts);
    point.answered += sums.counts.answered();
}

impl Curves {
    /// Adds a batch, if it belongs to a second.
    pub fn add(&mut self, batch: &Batch) {
        // What the warm-up's requests do after second 0 belongs to neither part.
        let When::Tenth(tenth) = batch.when else { return };
        if (batch.part == Part::Measured) != (tenth >= 0) {
            return;
        }
        let second = tenth.div_euclid(10);
        for (slices, place) in [(&mut self.seconds, second), (&mut self.tenths, tenth)] {
            slices.entry(place).or_default().add(&batch.sums);
        }
        self.touched.insert(tenth);
    }

    /// Puts the tenths that have changed into the series, and forgets those that have ended.
    pub fn draw(&mut self, now: When) {
        // Snapshots that are being drawn keep the series that they have.
        let (series, recent_tenths) = (Arc::make_mut(&mut self.series), Arc::make_mut(&mut self.recent_tenths));
        let touched = std::mem::take(&mut self.touched);
        let seconds: BTreeSet<i64> = touched.iter().map(|tenth| tenth.div_euclid(10)).collect();
        for second in seconds {
            if let (Some(point), Some(slice)) = (series.at(second), self.seconds.get(&second)) {
                slice.draw(point, self.dealt);
            }
        }
        for tenth in touched {
            if let (Some(point), Some(slice)) = (recent_tenths.at(tenth), self.tenths.get(&tenth)) {
                slice.draw(point, self.dealt);
            }
        }
        if let When::Tenth(tenth) = now {
            // A second without any request gets a point too.
            series.at(tenth.div_euclid(10));
            // Every recorder was read after that tenth began, so nothing older can come.
            self.seconds = self.seconds.split_off(&tenth.div_euclid(10));
            self.tenths = self.tenths.split_off(&tenth);
        }
    }

    /// How the locks fared in the newest whole second, once for each second.
    pub fn second_ended(&mut self, now: When) -> Option<Outcomes> {
        let newest = self.series.newest()?.time;
        // After the end of the load its last second is over too.
        let over = now.second().map_or(newest, |second| second - 1);
        let from = self.reported.map_or(i64::MIN, |reported| reported + 1);
        let ended = self.series.iter().filter(|point| (from..=over).contains(&point.time));
        let ended: Vec<Point> = ended.copied().collect();
        self.reported = self.reported.max(Some(over));
        let refused = |point: &&Point| point.time >= 0 && point.is_refused();
        self.refused_seconds += ended.iter().filter(refused).count() as u64;
        ended.last().map(|point| point.outcomes)
    }

    /// Takes in how many requests were due in each second.
    pub fn offered(&mut self, seconds: &BTreeMap<i64, u64>) {
        self.dealt = true;
        let series = Arc::make_mut(&mut self.series);
        for (second, requests) in seconds {
            if let Some(point) = series.at(*second) {
                point.offered += requests;
            }
        }
    }

    /// Takes in what was added to the books.
    pub fn audit(&mut self, news: &News) {
        for (when, entries) in &news.tenths {
            self.points(*when).for_each(|point| point.ledger.add(entries));
        }
    }

    /// Takes in when two holders had one lock.
    pub fn doubles(&mut self, doubles: &NewDoubles) {
        for when in &doubles.holds {
            self.points(*when).for_each(|point| point.double_holds += 1);
        }
        for when in &doubles.uses {
            self.points(*when).for_each(|point| point.double_uses += 1);
        }
    }

    /// The points that an instant belongs to, as far as they are kept.
    fn points(&mut self, when: When) -> impl Iterator<Item = &mut Point> {
        let points = match when {
            When::Tenth(tenth) => [
                Arc::make_mut(&mut self.series).at(tenth.div_euclid(10)),
                Arc::make_mut(&mut self.recent_tenths).at(tenth),
            ],
            When::AfterEnd => [Some(&mut self.judged_after_end), None],
        };
        points.into_iter().flatten()
    }

    /// What was counted after the load had ended, while the workers finished.
    pub fn after_end(&self, sums: &Sums) -> Point {
        let mut point = self.judged_after_end;
        count(&mut point, sums);
        if !self.dealt {
            point.offered = point.counts[Count::Begun];
        }
        point.times = latencies(Time::OF_A_POINT.map(|time| sums.durations(time)));
        point
    }
}
