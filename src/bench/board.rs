//! What the driver of a round and the tasks of its app servers tell one another, without a lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use super::tally::Phase;

/// How far the measuring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Moment {
    /// Warm-up, or between two phases: nothing is counted.
    Between = 0,
    /// In the baseline.
    Baseline = 1,
    /// In the measured part.
    Measured = 2,
    /// After it. What is still under way is waited for, and counts.
    After = 3,
}

impl Moment {
    /// The phase whose times include what ends at this moment, its acquire having begun at `began`. One that began before
    /// the phase is among them, since the longest waits are those that no phase holds from end to end.
    pub fn times_of(self, began: Self) -> Option<Phase> {
        match self {
            Self::Baseline => Some(Phase::Baseline),
            Self::Measured => Some(Phase::Measured),
            Self::After if began != Self::After => Some(Phase::Measured),
            Self::After | Self::Between => None,
        }
    }

    /// The phase that counts a cycle which ended at this moment.
    pub const fn cycles_of(self) -> Option<Phase> {
        match self {
            Self::Baseline => Some(Phase::Baseline),
            Self::Measured => Some(Phase::Measured),
            Self::After | Self::Between => None,
        }
    }
}

/// Seen by all tasks of a round.
#[derive(Debug)]
pub(super) struct Board {
    moment: AtomicU8,
    /// Locks held by tasks that hold them for good.
    pub holding: AtomicUsize,
    /// Locks of these that were found lost.
    pub lost: AtomicUsize,
    epoch: Instant,
}

impl Board {
    pub fn new() -> Self {
        Self {
            moment: AtomicU8::new(Moment::Between as u8),
            holding: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            epoch: Instant::now(),
        }
    }

    /// How far the measuring is.
    pub fn moment(&self) -> Moment {
        match self.moment.load(Relaxed) {
            1 => Moment::Baseline,
            2 => Moment::Measured,
            3 => Moment::After,
            _ => Moment::Between,
        }
    }

    /// Begins the next moment.
    pub fn set_moment(&self, moment: Moment) {
        self.moment.store(moment as u8, Relaxed);
    }

    /// Nanoseconds since the board was made, 1 at least.
    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.epoch).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
    }
}

/// What one task tells of itself.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// When the acquire under way began, in nanoseconds of the board; 0: none is, or it began after the measured part.
    acquiring: AtomicU64,
    /// Cycles that ended in the measured part.
    cycles: AtomicU64,
}

impl Seat {
    /// An acquire begins.
    pub fn begin(&self, board: &Board, at: Instant, moment: Moment) {
        let nanos = if moment == Moment::After { 0 } else { board.nanos(at) };
        self.acquiring.store(nanos, Relaxed);
    }

    /// It ended.
    pub fn end(&self) {
        self.acquiring.store(0, Relaxed);
    }

    /// A cycle ended in the measured part.
    pub fn count(&self) {
        self.cycles.fetch_add(1, Relaxed);
    }

    /// The cycles of the measured part.
    pub fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    /// For how long the acquire under way has waited, if it began before the end of the measured part.
    pub fn waits(&self, board: &Board) -> Option<Duration> {
        let since = self.acquiring.load(Relaxed);
        (since > 0).then(|| Duration::from_nanos(board.nanos(Instant::now()).saturating_sub(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::Moment::{After, Baseline, Between, Measured};
    use super::*;

    #[test]
    fn a_wait_that_spans_the_measured_part_is_among_its_times() {
        assert_eq!(Measured.times_of(Between), Some(Phase::Measured));
        assert_eq!(After.times_of(Between), Some(Phase::Measured));
        assert_eq!(After.times_of(After), None);
        assert_eq!(Baseline.times_of(Between), Some(Phase::Baseline));
        assert_eq!(Between.times_of(Baseline), None);
    }

    #[test]
    fn only_an_acquire_that_is_under_way_and_began_in_time_waits() {
        let (board, seat) = (Board::new(), Seat::default());
        assert_eq!(seat.waits(&board), None);
        seat.begin(&board, Instant::now(), Measured);
        assert!(seat.waits(&board).is_some());
        seat.end();
        assert_eq!(seat.waits(&board), None);
        seat.begin(&board, Instant::now(), After);
        assert_eq!(seat.waits(&board), None);
    }
}
