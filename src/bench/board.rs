//! What the driver of a round and the tasks of its app servers tell each other, without a lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use strum::FromRepr;

use super::tally::Phase;

/// The stage of a round, as the driver announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoundStage {
    /// Clients connect.
    Connect,
    /// Tasks run.
    Load,
    /// A node came back at this instant; tasks run.
    Back(Instant),
    /// Tasks end.
    Stop,
    /// The runtime ends.
    Close,
}

/// How far the measurement has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub(super) enum Moment {
    /// Warm-up, or the time between two phases: nothing is counted.
    Between,
    /// The baseline.
    Baseline,
    /// The measured part.
    Measured,
    /// After the measured part. Acquires still under way are waited for, and count.
    After,
}

impl Moment {
    /// The phase that counts the times of an acquire that ends at this moment and began at `began`. An acquire that began
    /// before the phase counts too, because the longest waits are longer than any phase.
    pub fn times_of(self, began: Self) -> Option<Phase> {
        match self {
            Self::After if began != Self::After => Some(Phase::Measured),
            now => now.cycles_of(),
        }
    }

    /// The phase that counts a cycle that ends at this moment.
    pub const fn cycles_of(self) -> Option<Phase> {
        match self {
            Self::Baseline => Some(Phase::Baseline),
            Self::Measured => Some(Phase::Measured),
            Self::After | Self::Between => None,
        }
    }
}

/// Shared by all tasks of a round.
#[derive(Debug)]
pub(super) struct Board {
    moment: AtomicU8,
    /// How many locks are held until the end of the load.
    pub holding: AtomicUsize,
    /// How many of them were lost.
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

    /// The present moment.
    pub fn moment(&self) -> Moment {
        Moment::from_repr(self.moment.load(Relaxed)).unwrap_or(Moment::Between)
    }

    /// Starts the next moment.
    pub fn set_moment(&self, moment: Moment) {
        self.moment.store(moment as u8, Relaxed);
    }

    /// Nanoseconds from the creation of the board to `at`, at least 1.
    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.epoch).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
    }
}

/// What one task shares.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// When the present acquire began, in nanoseconds of the board; 0 if there is none, or it began after the measured
    /// part.
    acquiring: AtomicU64,
    /// Cycles that ended in the measured part.
    cycles: AtomicU64,
}

impl Seat {
    /// Notes that an acquire begins.
    pub fn begin(&self, board: &Board, at: Instant, moment: Moment) {
        let nanos = if moment == Moment::After { 0 } else { board.nanos(at) };
        self.acquiring.store(nanos, Relaxed);
    }

    /// Notes that it has ended.
    pub fn end(&self) {
        self.acquiring.store(0, Relaxed);
    }

    /// Counts a cycle that ended in the measured part.
    pub fn count(&self) {
        self.cycles.fetch_add(1, Relaxed);
    }

    /// The number of cycles in the measured part.
    pub fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    /// How long the present acquire has waited, if it began before the end of the measured part.
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
