//! What the driver of a round and the tasks of its app servers tell one another, without a lock.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::tally::Phase;

/// Seen by all tasks of a round.
#[derive(Debug)]
pub(super) struct Board {
    /// 0: nothing is counted; else the phase plus 1.
    phase: AtomicU8,
    /// Locks held by tasks that hold them for good.
    pub holding: AtomicUsize,
    /// Locks of these that were found lost.
    pub lost: AtomicUsize,
    epoch: Instant,
}

impl Board {
    pub fn new() -> Self {
        Self {
            phase: AtomicU8::new(0),
            holding: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            epoch: Instant::now(),
        }
    }

    /// The phase that is on, if any.
    pub fn phase(&self) -> Option<Phase> {
        match self.phase.load(Relaxed) {
            1 => Some(Phase::Baseline),
            2 => Some(Phase::Measured),
            _ => None,
        }
    }

    /// Begins a phase, or ends it.
    pub fn set_phase(&self, phase: Option<Phase>) {
        self.phase.store(phase.map_or(0, |phase| phase as u8 + 1), Relaxed);
    }

    /// Nanoseconds since the board was made, 1 at least.
    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.epoch).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
    }
}

/// What one task tells of itself.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// When the acquire under way began, in nanoseconds of the board, and its phase in the lowest two bits; 0: none is.
    acquiring: AtomicU64,
    /// Cycles that ended, by phase.
    cycles: [AtomicU64; Phase::ALL],
}

impl Seat {
    /// An acquire begins.
    pub fn begin(&self, board: &Board, at: Instant, phase: Option<Phase>) {
        let mark = phase.map_or(0, |phase| phase as u64 + 1);
        self.acquiring.store((board.nanos(at) << 2) | mark, Relaxed);
    }

    /// It ended.
    pub fn end(&self) {
        self.acquiring.store(0, Relaxed);
    }

    /// A cycle ended in `phase`.
    pub fn count(&self, phase: Phase) {
        self.cycles[phase as usize].fetch_add(1, Relaxed);
    }

    /// The cycles of `phase`.
    pub fn cycles(&self, phase: Phase) -> u64 {
        self.cycles[phase as usize].load(Relaxed)
    }

    /// For how long the acquire under way has waited, and in which phase it began.
    pub fn waits(&self, board: &Board) -> Option<(Phase, Duration)> {
        let word = self.acquiring.load(Relaxed);
        let phase = match word & 3 {
            1 => Phase::Baseline,
            2 => Phase::Measured,
            _ => return None,
        };
        let age = board.nanos(Instant::now()).saturating_sub(word >> 2);
        Some((phase, Duration::from_nanos(age)))
    }
}
