//! The time axis that every panel shares: which second is in which column.

use std::ops::Range;

/// How much of the past is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// The last so many seconds.
    Last(i64),
    /// The whole run, as far as it is kept.
    All,
}

impl Window {
    const ALL: [Self; 5] = [
        Self::Last(30),
        Self::Last(60),
        Self::Last(120),
        Self::Last(300),
        Self::All,
    ];

    /// The next larger one, or the smallest again.
    pub fn next(self) -> Self {
        let at = Self::ALL
            .iter()
            .position(|&window| window == self)
            .map_or(0, |at| at + 1);
        Self::ALL[at % Self::ALL.len()]
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Last(30) => "last 30 s",
            Self::Last(60) => "last 60 s",
            Self::Last(120) => "last 2 min",
            Self::Last(_) => "last 5 min",
            Self::All => "whole run",
        }
    }
}

/// The least time that an axis shows, so that the first second of a run doesn't fill the screen.
const SHORTEST: i64 = 10;

/// Whole seconds, newest at the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeAxis {
    /// The first second shown.
    from: i64,
    /// How many seconds.
    span: i64,
    /// The first second that there is something of.
    oldest: i64,
    columns: u16,
}

impl TimeAxis {
    /// `now` in seconds of the run, `oldest` the first second that there is something of.
    pub fn new(window: Window, now: f64, oldest: i64, columns: u16) -> Self {
        #[allow(clippy::cast_possible_truncation)] // seconds of a run
        let end = now.floor() as i64 + 1;
        // A run that is younger than the window fills the whole axis.
        let past = (end - oldest).max(SHORTEST);
        let span = match window {
            Window::Last(span) => span.min(past),
            Window::All => past,
        };
        Self {
            from: end - span,
            span,
            oldest,
            columns,
        }
    }

    /// The same time on another number of columns.
    pub const fn with_columns(self, columns: u16) -> Self {
        Self { columns, ..self }
    }

    pub const fn span(&self) -> i64 {
        self.span
    }

    pub const fn columns(&self) -> u16 {
        self.columns
    }

    /// The column of an instant; none when it is not on the axis.
    pub fn column(&self, at: f64) -> Option<u16> {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // seconds of a run
        let column = ((at - self.from as f64) * f64::from(self.columns) / self.span as f64).floor() as i64;
        u16::try_from(column).ok().filter(|&column| column < self.columns)
    }

    /// The columns of a whole second, at least one; none when it is not on the axis.
    pub fn second(&self, second: i64) -> Option<Range<u16>> {
        if second < self.from || second >= self.from + self.span {
            return None;
        }
        let columns = i64::from(self.columns);
        let start = (second - self.from) * columns / self.span;
        let end = ((second + 1 - self.from) * columns / self.span)
            .max(start + 1)
            .min(columns);
        Some(u16::try_from(start).ok()?..u16::try_from(end).ok()?)
    }

    /// Round seconds to write under the axis, so far apart that `gap` columns are free for each.
    pub fn ticks(&self, gap: u16) -> impl Iterator<Item = i64> + use<> {
        const STEPS: [i64; 10] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
        let fits = |step: &i64| step * i64::from(self.columns) >= i64::from(gap) * self.span;
        let step = STEPS.into_iter().find(fits).unwrap_or(1200);
        let first = self.from.max(self.oldest).div_euclid(step) * step;
        let Self { from, span, oldest, .. } = *self;
        (0..)
            .map(move |n| first + n * step)
            .skip_while(move |&t| t < from.max(oldest))
            .take_while(move |&t| t < from + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_second_ends_at_the_right_edge() {
        for columns in [1, 7, 60, 100, 301] {
            for window in [Window::Last(30), Window::Last(300), Window::All] {
                let axis = TimeAxis::new(window, 62.4, -3, columns);
                assert_eq!(axis.second(62).map(|range| range.end), Some(columns));
                assert_eq!(axis.second(63), None);
                assert!(axis.column(62.9).is_some());
            }
        }
    }

    #[test]
    fn seconds_cover_the_axis_without_gaps() {
        let axis = TimeAxis::new(Window::Last(60), 100.0, 0, 97);
        let mut next = 0;
        for second in 41..=100 {
            let range = axis.second(second).expect("on the axis");
            assert_eq!(range.start, next);
            next = range.end;
        }
        assert_eq!(next, 97);
    }

    #[test]
    fn an_instant_lies_in_its_second() {
        let axis = TimeAxis::new(Window::Last(30), 29.0, 0, 90);
        for second in 0..30 {
            #[allow(clippy::cast_precision_loss)]
            let column = axis.column(second as f64 + 0.5).expect("on the axis");
            assert!(axis.second(second).expect("on the axis").contains(&column));
        }
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let axis = TimeAxis::new(Window::Last(60), 72.0, 0, 100);
        assert_eq!(axis.ticks(10).collect::<Vec<_>>(), [20, 30, 40, 50, 60, 70]);
    }

    #[test]
    fn windows_go_round() {
        let mut window = Window::Last(60);
        for _ in 0..5 {
            window = window.next();
        }
        assert_eq!(window, Window::Last(60));
    }
}
