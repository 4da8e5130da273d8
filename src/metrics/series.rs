use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::Outcomes;

/// One second of one arm. Counts are of that second alone, by the time of each count, not since the start. Those of the
/// measured part add up, with what was counted after the end of the load, to the arm's figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The second: 0 is the first of the measured part; negative in the warm-up.
    pub second: i64,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Median time of an acquire in microseconds; 0 when there was none.
    pub acquire_p50_us: u64,
    /// Its 99th percentile.
    pub acquire_p99_us: u64,
    /// Median response time in microseconds; 0 when no request ended.
    pub response_p50_us: u64,
    /// Its 99th percentile.
    pub response_p99_us: u64,
    /// Requests that were due (open loop) or begun (closed loop).
    pub offered: u64,
    /// Requests that were begun.
    pub begun: u64,
    /// Requests that were begun late.
    pub late: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Those that ended with an answer.
    pub answered: u64,
    /// Orders, by the time of the sale.
    pub orders: u64,
    /// Units oversold, by the time of the sale.
    pub oversold: u64,
    /// Updates lost, by the time of the sale that overwrote them; what was made up for later is not taken off.
    pub lost_updates: u64,
    /// Requests that were told "sold out".
    pub sold_out: u64,
    /// Provider calls.
    pub db_hits: u64,
    /// Reads served fresh.
    pub hits: u64,
    /// Stale reads.
    pub stale_reads: u64,
    /// Requests that gave up.
    pub gave_up: u64,
    /// Locks lost while held.
    pub locks_lost: u64,
    /// Work dropped for a lost lock.
    pub aborted: u64,
    /// Requests refused by the fence.
    pub fenced: u64,
    /// Requests that failed.
    pub errors: u64,
}

impl Point {
    /// Whether acquires were refused for lack of nodes in this second, and none was granted.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.outcomes.acquired == 0 && self.outcomes.no_quorum + self.outcomes.unknown > 0
    }
}

/// The newest points of a run: a ring of fixed size, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    points: VecDeque<Point>,
}

impl Series {
    /// How many seconds the ring holds: an hour.
    pub const CAPACITY: usize = 3600;

    /// The point of this second, made if it is not there yet; none if it is older than the ring reaches. Seconds in between
    /// are filled with empty points: that nothing happened is worth a point.
    pub fn at(&mut self, second: i64) -> Option<&mut Point> {
        let first = self.points.front().map_or(second, |oldest| oldest.second);
        let mut next = self.points.back().map_or(second, |newest| newest.second + 1);
        while next <= second {
            if self.points.len() == Self::CAPACITY {
                self.points.pop_front();
            }
            self.points.push_back(Point {
                second: next,
                ..Point::default()
            });
            next += 1;
        }
        let first = self.points.front().map_or(first, |oldest| oldest.second);
        self.points.get_mut(usize::try_from(second - first).ok()?)
    }

    /// Appends a point, or replaces the one of the same second.
    pub fn put(&mut self, point: Point) {
        if let Some(place) = self.at(point.second) {
            *place = point;
        }
    }

    /// The points, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Point> + ExactSizeIterator {
        self.points.iter()
    }

    /// The points of the last `seconds`, oldest first.
    pub fn last(&self, seconds: usize) -> impl DoubleEndedIterator<Item = &Point> + ExactSizeIterator {
        self.points.iter().skip(self.points.len().saturating_sub(seconds))
    }

    /// The newest point.
    #[must_use]
    pub fn newest(&self) -> Option<&Point> {
        self.points.back()
    }
}

/// A tenth of a second of one arm, for charts: what a [`Point`] has of it, and only that. Not part of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Beat {
    /// The tenth of a second: 0 is the first of the measured part; negative in the warm-up.
    pub tenth: i64,
    /// Median time of an acquire in microseconds; 0 when there was none.
    pub acquire_p50_us: u64,
    /// Its 99th percentile.
    pub acquire_p99_us: u64,
    /// Median response time in microseconds; 0 when no request ended.
    pub response_p50_us: u64,
    /// Its 99th percentile.
    pub response_p99_us: u64,
    /// Acquires refused for lack of a quorum.
    pub no_quorum: u64,
    /// Units oversold.
    pub oversold: u64,
    /// Updates lost.
    pub lost_updates: u64,
    /// Provider calls.
    pub db_hits: u64,
    /// Stale reads.
    pub stale_reads: u64,
}

/// The newest beats of a run, oldest first: five minutes. Tenths in which nothing happened may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    beats: VecDeque<Beat>,
}

impl Trace {
    /// How many tenths of a second the ring holds.
    pub const CAPACITY: usize = 3000;

    /// The beat of this tenth, made if it is not there yet; none if it is older than the ring reaches.
    pub fn at(&mut self, tenth: i64) -> Option<&mut Beat> {
        let place = self.beats.partition_point(|beat| beat.tenth < tenth);
        if self.beats.get(place).is_none_or(|beat| beat.tenth != tenth) {
            if self.beats.len() == Self::CAPACITY {
                self.beats.pop_front();
                return (place > 0).then(|| self.at(tenth)).flatten();
            }
            let beat = Beat {
                tenth,
                ..Beat::default()
            };
            self.beats.insert(place, beat);
        }
        self.beats.get_mut(place)
    }

    /// The beats, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Beat> + ExactSizeIterator {
        self.beats.iter()
    }
}
