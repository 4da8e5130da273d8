use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::Pages;
use super::point::Point;

/// The points of the last hour in pages of a minute, and the current minute; oldest first. In a record it is a list of all its
/// points.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    #[serde(rename = "points")]
    #[schemars(with = "Vec<Point>")]
    pages: Pages<60, 61>,
}

impl Series {
    /// The point of this second, which is added if it is missing; `None` if it is older than the points that are kept.
    /// Gaps are filled with empty points: a second in which nothing happened gets a point too.
    pub fn at(&mut self, second: i64) -> Option<&mut Point> {
        let next = self.newest().map_or(second, |newest| newest.time + 1);
        for missing in next..second {
            self.pages.at(missing);
        }
        self.pages.at(second)
    }

    /// The points, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.pages.iter()
    }

    /// The points of the last `seconds`, oldest first.
    pub fn last(&self, seconds: usize) -> impl DoubleEndedIterator<Item = &Point> {
        let from = i64::try_from(seconds).unwrap_or(i64::MAX);
        let from = self.newest().map_or(0, |newest| newest.time.saturating_sub(from));
        self.iter().filter(move |point| point.time > from)
    }

    /// The newest point.
    pub fn newest(&self) -> Option<&Point> {
        self.pages.newest()
    }
}

/// The tenths of the last five minutes in pages of fifteen seconds, and the current page; oldest first. Tenths in which nothing
/// happened may be left out.
pub type RecentTenths = Pages<150, 21>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_which_nothing_happened_have_points_too() {
        let mut series = Series::default();
        series.at(-2);
        series.at(3);
        let seconds: Vec<i64> = series.iter().map(|point| point.time).collect();
        assert_eq!(seconds, [-2, -1, 0, 1, 2, 3]);
        let last: Vec<i64> = series.last(2).map(|point| point.time).collect();
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
        assert!(text.starts_with("{\"points\":[{\"second\":61}"), "{text}");
        assert_eq!(serde_json::from_str::<Series>(&text).expect("its own text"), series);
    }
}
