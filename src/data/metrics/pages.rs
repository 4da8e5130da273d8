use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::point::Point;

/// Points in the order of their time, in pages that clones share: each covers `SPAN` times, and `MOST` pages are kept. A snapshot
/// that keeps the pages of an hour costs only a copy of the page that is still written to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pages<const SPAN: i64, const MOST: usize> {
    pages: VecDeque<Arc<Page>>,
}

/// All points of `SPAN` neighbouring times.
#[derive(Debug, Clone, PartialEq)]
struct Page {
    number: i64,
    points: Vec<Point>,
}

impl<const SPAN: i64, const MOST: usize> Serialize for Pages<SPAN, MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, const SPAN: i64, const MOST: usize> Deserialize<'de> for Pages<SPAN, MOST> {
    /// Takes the points as they are: a series that we wrote has all its seconds, and for any other file we make none up.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut points = Vec::<Point>::deserialize(deserializer)?;
        points.sort_by_key(|point| point.time);
        let mut pages = Self::default();
        for point in points {
            if let Some(place) = pages.at(point.time) {
                *place = point;
            }
        }
        Ok(pages)
    }
}

impl<const SPAN: i64, const MOST: usize> Pages<SPAN, MOST> {
    /// The point of this time, which is added if it is missing; `None` if it is older than the points that are kept.
    pub fn at(&mut self, time: i64) -> Option<&mut Point> {
        let number = time.div_euclid(SPAN);
        let mut place = self.pages.partition_point(|page| page.number < number);
        if self.pages.get(place).is_none_or(|page| page.number != number) {
            if self.pages.len() == MOST {
                // The oldest page makes room only for something newer than itself.
                place = place.checked_sub(1)?;
                self.pages.pop_front();
            }
            let points = Vec::with_capacity(usize::try_from(SPAN).unwrap_or_default());
            self.pages.insert(place, Arc::new(Page { number, points }));
        }
        // Snapshots that are being drawn keep the page that they have.
        let points = &mut Arc::make_mut(self.pages.get_mut(place)?).points;
        let place = points.partition_point(|point| point.time < time);
        if points.get(place).is_none_or(|point| point.time != time) {
            let new = Point {
                time,
                ..Point::default()
            };
            points.insert(place, new);
        }
        points.get_mut(place)
    }

    /// The points, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.pages.iter().flat_map(|page| &page.points)
    }

    /// The newest point.
    pub fn newest(&self) -> Option<&Point> {
        self.pages.back()?.points.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = i64>) -> Pages<10, 3> {
        let mut pages = Pages::default();
        for time in times {
            pages.at(time);
        }
        pages
    }

    fn times(pages: &Pages<10, 3>) -> Vec<i64> {
        pages.iter().map(|point| point.time).collect()
    }

    #[test]
    fn points_are_in_the_order_of_their_time_whenever_they_come() {
        let pages = of([7, -3, 12, 8, 7, -1]);
        assert_eq!(times(&pages), [-3, -1, 7, 8, 12]);
        assert_eq!(pages.newest().map(|point| point.time), Some(12));
    }

    #[test]
    fn the_oldest_page_goes_and_what_is_older_than_all_is_not_taken_in() {
        let mut pages = of(0..35);
        assert_eq!(times(&pages), (10..35).collect::<Vec<_>>());
        assert_eq!(pages.at(9), None);
        assert_eq!(pages.iter().count(), 25);
    }

    #[test]
    fn clones_share_all_pages_but_those_that_are_written_to() {
        let mut pages = of(0..25);
        let seen = pages.clone();
        pages.at(25);
        assert!((0..2).all(|page| Arc::ptr_eq(&pages.pages[page], &seen.pages[page])));
        assert!(!Arc::ptr_eq(&pages.pages[2], &seen.pages[2]));
        assert_eq!(seen.newest().map(|point| point.time), Some(24));
    }
}
