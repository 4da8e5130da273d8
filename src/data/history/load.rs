//! What the clients of a program did in each second, and in all.

use std::time::Duration;

use crate::metrics::{Count, Latency, Point, Series, Sums, Time};
use crate::model::Outcome;

/// Nanoseconds.
const SECOND: i64 = 1_000_000_000;
/// No clock of a machine runs for longer. Some days more or less don't matter.
pub const YEAR: Duration = Duration::from_hours(365 * 24);
/// A series has the points of about an hour.
const KEPT: i64 = 3600;

/// What clients did. A request begins when a client asks, and ends with the end of its hold, or when it gives up.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// When the first event was, and the last one, in nanoseconds by the clock of whoever reported.
    pub span: [i64; 2],
    /// In all.
    pub sums: Sums,
    /// A point for each second since the first event.
    pub series: Series,
    /// The present second, and what was done in it.
    now: (i64, Sums),
}

impl Load {
    /// Nothing yet; events come in the order of their times.
    pub(super) fn of(span: [i64; 2]) -> Self {
        Self {
            span,
            ..Self::default()
        }
    }

    /// The time from the first event to the last one.
    pub fn elapsed(&self) -> Duration {
        let [from, until] = self.span;
        Duration::from_nanos(until.abs_diff(from))
    }

    /// Whether its times may be those of one clock: none of a machine goes on for longer than a year between two events.
    pub fn is_of_one_clock(&self) -> bool {
        self.elapsed() < YEAR
    }

    /// The second in which this was.
    pub fn second(&self, t: i64) -> i64 {
        t.saturating_sub(self.span[0]).max(0) / SECOND
    }

    /// The counts at this time, which is not before that of an earlier call.
    pub(super) fn at(&mut self, t: i64) -> &mut Sums {
        let second = self.second(t);
        if second != self.now.0 {
            self.close();
            self.now.0 = second;
        }
        &mut self.now.1
    }

    /// What is told at `t` took from then until then.
    pub(super) fn took(&mut self, time: Time, from: i64, until: i64, t: i64) {
        let took = Duration::from_nanos(until.saturating_sub(from).max(0).cast_unsigned());
        self.at(t).record(time, took);
    }

    /// An acquire has ended.
    pub(super) fn acquire(&mut self, outcome: Outcome, asked: Option<i64>, t: i64) {
        self.at(t).outcomes.count(outcome);
        if let Some(asked) = asked {
            self.took(outcome.into(), asked, t, t);
        }
    }

    /// What is told at `t`: a request has ended that began when its client asked, if it said so.
    pub(super) fn completed(&mut self, asked: Option<i64>, end: i64, t: i64) {
        self.at(t).counts[Count::Completed] += 1;
        if let Some(asked) = asked {
            self.took(Time::Response, asked, end, t);
        }
    }

    /// The point of this second, unless it is too old to be kept.
    pub fn point(&mut self, second: i64) -> Option<&mut Point> {
        let oldest = self.second(self.span[1]) - KEPT;
        (second >= oldest).then(|| self.series.at(second)).flatten()
    }

    /// Adds what was done in the present second to the others.
    pub(super) fn close(&mut self) {
        let (second, sums) = std::mem::take(&mut self.now);
        self.sums.add(&sums);
        if let Some(point) = self.point(second) {
            point.outcomes.add(&sums.outcomes);
            point.counts.add(&sums.counts);
            point.offered += sums.counts[Count::Begun];
            point.answered += sums.counts.answered();
            for time in Time::OF_A_POINT {
                point.times[time] = Latency::from(sums.durations(time).quantiles());
            }
        }
    }
}
