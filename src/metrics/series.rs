use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::model::Outcomes;

/// One second of one arm. Counts are of that second alone, not since the start.
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
    /// Requests that ended.
    pub completed: u64,
    /// Orders appended.
    pub orders: u64,
    /// Units oversold.
    pub oversold: u64,
    /// Updates lost.
    pub lost_updates: u64,
    /// Provider calls.
    pub db_hits: u64,
    /// Stale reads.
    pub stale_reads: u64,
}

/// The newest points of a run: a ring of fixed size, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    points: VecDeque<Point>,
}

impl Series {
    /// How many seconds the ring holds: an hour.
    pub const CAPACITY: usize = 3600;

    /// Appends a point, or replaces the newest one if it is of the same second.
    pub fn put(&mut self, point: Point) {
        if self.points.back().is_some_and(|newest| newest.second == point.second) {
            self.points.pop_back();
        }
        if self.points.len() == Self::CAPACITY {
            self.points.pop_front();
        }
        self.points.push_back(point);
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
