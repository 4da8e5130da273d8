use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::metric::{Metric, Value};
use super::pages::{Pages, Timed};
use crate::model::Outcomes;

/// One second of one arm. Each count belongs to the second in which it happened. The counts of the measured part, plus
/// those after the end of the load, add up to the arm's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The second: 0 is the first of the measured part; negative in the warm-up.
    pub second: i64,
    /// Plain counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Median time of an acquire in microseconds; 0 if there was none.
    pub acquire_p50_us: u64,
    /// 99th percentile of the time of an acquire in microseconds; 0 if there was none.
    pub acquire_p99_us: u64,
    /// Median response time in microseconds; 0 if no request ended.
    pub response_p50_us: u64,
    /// 99th percentile of the response time in microseconds; 0 if no request ended.
    pub response_p99_us: u64,
    /// Requests that were due (open loop) or begun (closed loop).
    pub offered: u64,
    /// Requests that ended with an answer.
    pub answered: u64,
    /// Orders, by the time of the sale.
    pub orders: u64,
    /// Units oversold, by the time of the sale.
    pub oversold: u64,
    /// Lost updates, by the time of the sale that overwrote them; this does not fall when a later sale makes up for one.
    pub lost_updates: u64,
}

impl Point {
    /// Whether acquires were refused because nodes were missing in this second, and none was granted.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.outcomes.acquired == 0 && self.outcomes.no_quorum + self.outcomes.unknown > 0
    }

    /// What this second added to a figure; `None` for figures that are not stored for each second.
    #[must_use]
    pub fn of(&self, metric: Metric) -> Option<u64> {
        match (metric, metric.row().value) {
            (Metric::NoQuorum, _) => Some(self.outcomes.no_quorum),
            (Metric::Orders, _) => Some(self.orders),
            (Metric::Oversold, _) => Some(self.oversold),
            (Metric::LostUpdates, _) => Some(self.lost_updates),
            (_, Value::Counted(count)) => Some(self.counts[count]),
            _ => None,
        }
    }
}

/// The points of the last hour, oldest first. In a record it is a list of all its points.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    #[serde(rename = "points")]
    pages: Pages<Point>,
}

impl Timed for Point {
    const SPAN: i64 = 60;
    /// An hour, and the current minute.
    const PAGES: usize = 61;

    fn empty(second: i64) -> Self {
        Self {
            second,
            ..Self::default()
        }
    }

    fn time(&self) -> i64 {
        self.second
    }
}

impl Series {
    /// The point of this second, which is added if it is missing; `None` if it is older than the points that are kept.
    /// Gaps are filled with empty points: a second in which nothing happened gets a point too.
    pub fn at(&mut self, second: i64) -> Option<&mut Point> {
        let next = self.newest().map_or(second, |newest| newest.second + 1);
        for missing in next..second {
            self.pages.at(missing);
        }
        self.pages.at(second)
    }

    /// Appends a point, or replaces that of the same second.
    pub fn put(&mut self, point: Point) {
        if let Some(place) = self.at(point.second) {
            *place = point;
        }
    }

    /// The points, oldest first.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.pages.iter()
    }

    /// The points of the last `seconds`, oldest first.
    #[must_use]
    pub fn last(&self, seconds: usize) -> impl DoubleEndedIterator<Item = &Point> {
        let from = i64::try_from(seconds).unwrap_or(i64::MAX);
        let from = self.newest().map_or(0, |newest| newest.second.saturating_sub(from));
        self.iter().filter(move |point| point.second > from)
    }

    /// The newest point.
    #[must_use]
    pub fn newest(&self) -> Option<&Point> {
        self.pages.newest()
    }
}

/// One tenth of a second of one arm, for charts: some of the fields of a [`Point`]. It is not part of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TenthPoint {
    /// The tenth of a second: 0 is the first of the measured part; negative in the warm-up.
    pub tenth: i64,
    /// Median time of an acquire in microseconds; 0 if there was none.
    pub acquire_p50_us: u64,
    /// 99th percentile of the time of an acquire in microseconds; 0 if there was none.
    pub acquire_p99_us: u64,
    /// Median response time in microseconds; 0 if no request ended.
    pub response_p50_us: u64,
    /// 99th percentile of the response time in microseconds; 0 if no request ended.
    pub response_p99_us: u64,
    /// Acquires that were refused because there was no quorum.
    pub no_quorum: u64,
    /// Units oversold.
    pub oversold: u64,
    /// Lost updates.
    pub lost_updates: u64,
    /// Provider calls.
    pub db_hits: u64,
    /// Stale reads.
    pub stale_reads: u64,
}

/// The tenths of the last five minutes, oldest first. Tenths in which nothing happened may be left out.
pub type RecentTenths = Pages<TenthPoint>;

impl Timed for TenthPoint {
    /// Fifteen seconds.
    const SPAN: i64 = 150;
    /// Five minutes, and the current page.
    const PAGES: usize = 21;

    fn empty(tenth: i64) -> Self {
        Self {
            tenth,
            ..Self::default()
        }
    }

    fn time(&self) -> i64 {
        self.tenth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_which_nothing_happened_have_points_too() {
        let mut series = Series::default();
        series.at(-2);
        series.at(3);
        let seconds: Vec<i64> = series.iter().map(|point| point.second).collect();
        assert_eq!(seconds, [-2, -1, 0, 1, 2, 3]);
        let last: Vec<i64> = series.last(2).map(|point| point.second).collect();
        assert_eq!(last, [2, 3]);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut series = Series::default();
        series.at(0);
        series.at(100_000);
        assert!((3600..=3660).contains(&series.iter().count()));
        assert!(series.at(0).is_none());
        let mut recent_tenths = RecentTenths::default();
        for tenth in 0..10_000 {
            recent_tenths.at(tenth);
        }
        assert!((3000..=3150).contains(&recent_tenths.iter().count()));
    }

    #[test]
    fn a_record_has_the_points_as_a_list() {
        let mut series = Series::default();
        series.at(61);
        series.at(62);
        let text = serde_json::to_string(&series).expect("numbers are JSON");
        assert!(text.starts_with("{\"points\":[{\"second\":61,"), "{text}");
        assert_eq!(serde_json::from_str::<Series>(&text).expect("its own text"), series);
    }
}
