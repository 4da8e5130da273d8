//! The time axis that all panels share: which instant is in which column.

use std::ops::Range;

/// The times that charts can show: at most so many of the last seconds, and how that is called. The last one is the whole run,
/// as far as it is stored.
pub(super) const WINDOWS: [(i64, &str); 5] = [
    (30, "last 30 s"),
    (60, "last 60 s"),
    (120, "last 2 min"),
    (300, "last 5 min"),
    (i64::MAX, "whole run"),
];

/// The shortest time that an axis shows, so that the first second of a run doesn't fill the screen.
const SHORTEST: i64 = 10;

/// Tenths in a second.
const TENTHS: i64 = 10;

/// Time in columns, with the present at the right. The columns are cut from second 0 on, so that values stay in their
/// column until it leaves the axis at the left, and a moving chart doesn't flicker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeAxis {
    /// The number of the first column, counted from second 0.
    first: i64,
    /// The length in seconds.
    span: i64,
    /// The first second with data.
    oldest: i64,
    columns: u16,
}

impl TimeAxis {
    /// An axis of at most `longest` seconds that ends at `now` (in seconds of the run), where `oldest` is the first second with
    /// data.
    pub fn new(longest: i64, now: f64, oldest: i64, columns: u16) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a run")]
        let end = now.floor() as i64 + 1;
        let mut axis = Self {
            first: 0,
            // If a run is younger than that, it fills the whole axis.
            span: (end - oldest).max(SHORTEST).min(longest),
            oldest,
            columns,
        };
        #[expect(clippy::cast_possible_truncation, reason = "tenths of a run")]
        let newest = axis.slot((now * 10.0).floor() as i64);
        axis.first = newest + 1 - i64::from(columns);
        axis
    }

    /// An axis of a whole run of so many seconds, of which a part may be to come.
    pub const fn whole(seconds: i64, columns: u16) -> Self {
        Self {
            first: 0,
            span: seconds,
            oldest: 0,
            columns,
        }
    }

    /// This axis with twice as many columns for its time.
    pub const fn doubled(self) -> Self {
        Self {
            first: self.first * 2,
            columns: self.columns * 2,
            ..self
        }
    }

    /// The number of the column in which a tenth begins, counted from second 0.
    const fn slot(&self, tenth: i64) -> i64 {
        (tenth * self.columns as i64).div_euclid(self.span * TENTHS)
    }

    /// The first tenth that begins in the column of this number or after it.
    const fn first_tenth(&self, slot: i64) -> i64 {
        -(-slot * self.span * TENTHS).div_euclid(self.columns as i64)
    }

    /// The tenths that begin on the axis.
    pub const fn time(&self) -> Range<i64> {
        self.first_tenth(self.first)..self.first_tenth(self.first + self.columns as i64)
    }

    pub const fn columns(&self) -> u16 {
        self.columns
    }

    /// The length of a column in seconds.
    pub fn column_length(&self) -> f64 {
        let span = self.span as f64;
        span / f64::from(self.columns)
    }

    /// Whether a column is shorter than a second.
    pub fn is_fine(&self) -> bool {
        self.span < i64::from(self.columns)
    }

    /// The column of an instant; `None` if it is not on the axis.
    pub fn column(&self, at: f64) -> Option<u16> {
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a run")]
        let column = (at * f64::from(self.columns) / self.span as f64).floor() as i64 - self.first;
        u16::try_from(column).ok().filter(|&column| column < self.columns)
    }

    /// When a column begins, in seconds of the run.
    pub fn begin_of(&self, column: u16) -> f64 {
        (self.first + i64::from(column)) as f64 * self.column_length()
    }

    /// Finds the columns of many ranges, quickly if they are in order.
    pub const fn walk(self) -> Walk {
        Walk {
            axis: self,
            slot: 0,
            its: 0..0,
        }
    }

    /// Round seconds for labels under the axis, far enough apart for `gap` columns each.
    pub fn ticks(&self, gap: u16) -> impl Iterator<Item = i64> + use<> {
        const STEPS: [i64; 10] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
        let fits = |step: &i64| step * i64::from(self.columns) >= i64::from(gap) * self.span;
        let step = STEPS.into_iter().find(fits).unwrap_or(1200);
        let columns = i64::from(self.columns).max(1);
        let from = (self.first * self.span).div_euclid(columns).max(self.oldest);
        let end = ((self.first + columns) * self.span).div_euclid(columns);
        let first = from.div_euclid(step) * step;
        (0..)
            .map(move |n| first + n * step)
            .skip_while(move |&t| t < from)
            .take_while(move |&t| t <= end)
    }
}

/// Where many values lie on an axis. Most of them begin in the same column as the one before, which is remembered.
#[derive(Debug)]
pub(super) struct Walk {
    axis: TimeAxis,
    /// The number of the column that was found last.
    slot: i64,
    /// The tenths that begin in it.
    its: Range<i64>,
}

impl Walk {
    fn slot(&mut self, tenth: i64) -> i64 {
        if !self.its.contains(&tenth) {
            self.slot = self.axis.slot(tenth);
            self.its = self.axis.first_tenth(self.slot)..self.axis.first_tenth(self.slot + 1);
        }
        self.slot
    }

    /// The columns of a range of tenths, at least one; `None` if no part of it is on the axis.
    pub fn tenths(&mut self, time: Range<i64>) -> Option<Range<u16>> {
        let (first, columns) = (self.axis.first, i64::from(self.axis.columns));
        let start = self.slot(time.start) - first;
        let end = (self.slot(time.end) - first).max(start + 1);
        let (start, end) = (start.max(0), end.min(columns));
        (start < end).then_some(u16::try_from(start).ok()?..u16::try_from(end).ok()?)
    }

    /// The columns of a whole second, at least one; `None` if no part of it is on the axis.
    pub fn second(&mut self, second: i64) -> Option<Range<u16>> {
        self.tenths(second * TENTHS..(second + 1) * TENTHS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_at_the_right_edge() {
        for columns in [1, 7, 60, 100, 301] {
            for window in [30, 300, i64::MAX] {
                let axis = TimeAxis::new(window, 62.4, -3, columns);
                assert_eq!(axis.walk().tenths(624..625).map(|range| range.end), Some(columns));
                assert_eq!(axis.column(62.4), Some(columns - 1));
                assert_eq!(axis.walk().second(62).map(|range| range.end), Some(columns));
                assert_eq!(axis.walk().second(63 + 66), None);
            }
        }
    }

    #[test]
    fn seconds_and_tenths_cover_the_axis_without_gaps() {
        let axis = TimeAxis::new(60, 100.0, 0, 97);
        for tenths in [1, 10] {
            let mut next = 0;
            for start in (0..=1000).step_by(tenths) {
                let Some(range) = axis.walk().tenths(start..start + i64::try_from(tenths).expect("small")) else {
                    continue;
                };
                assert!(range.start <= next, "{start}");
                next = range.end;
            }
            assert_eq!(next, 97);
        }
    }

    #[test]
    fn a_walk_finds_what_each_tenth_would_have_found_alone() {
        for columns in [1, 7, 60, 97, 301] {
            for (longest, now) in [(30, 7.3), (60, 100.0), (i64::MAX, 3_599.0)] {
                let axis = TimeAxis::new(longest, now, -3, columns);
                let (mut walk, on) = (axis.walk(), axis.time());
                for tenth in -40..36_100 {
                    let range = tenth..tenth + 1 + tenth % 3;
                    let slot = axis.slot(tenth) - axis.first;
                    assert_eq!(walk.tenths(range.clone()), axis.walk().tenths(range), "{tenth}");
                    assert_eq!(on.contains(&tenth), (0..i64::from(columns)).contains(&slot), "{tenth}");
                }
            }
        }
    }

    #[test]
    fn values_in_a_column_stay_together_while_time_passes() {
        // Tenths that share a column now still share it a tenth later.
        let together = |now: f64| {
            let axis = TimeAxis::new(60, now, 0, 97).doubled();
            let of = move |tenth| axis.walk().tenths(tenth..tenth + 1).map(|range| range.start);
            (900..1000).map(|tenth| of(tenth) == of(tenth + 1)).collect::<Vec<_>>()
        };
        assert!((1..40).all(|tenth| together(100.0) == together(100.0 + f64::from(tenth) / 10.0)));
    }

    #[test]
    fn a_doubled_axis_has_two_columns_for_each() {
        let axis = TimeAxis::new(60, 72.3, 0, 101);
        for tenth in 200..723 {
            let at = |axis: TimeAxis| axis.walk().tenths(tenth..tenth + 1).map(|range| range.start);
            assert_eq!(at(axis), at(axis.doubled()).map(|column| column / 2), "{tenth}");
        }
        assert!(!TimeAxis::new(300, 400.0, 0, 120).is_fine());
        assert!(axis.is_fine());
    }

    #[test]
    fn an_instant_lies_in_its_second() {
        let axis = TimeAxis::new(30, 29.9, 0, 90);
        for second in 0..30 {
            let column = axis.column(second as f64 + 0.5).expect("on the axis");
            assert!(axis.walk().second(second).expect("on the axis").contains(&column));
        }
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let axis = TimeAxis::new(60, 72.0, 0, 100);
        assert_eq!(axis.ticks(10).collect::<Vec<_>>(), [20, 30, 40, 50, 60, 70]);
    }
}
