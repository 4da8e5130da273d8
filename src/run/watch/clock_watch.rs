//! Notices that the wall clock of the machine steps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Compares the machine's wall clock with its monotonic clock. A step of the wall clock voids a run, because keys expire
/// by it.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    origin: Instant,
    last: Option<f64>,
}

impl ClockWatch {
    /// A step of more than this many seconds counts.
    const STEP: f64 = 0.005;
    /// A reading that took longer than this was interrupted and says nothing.
    const LOOK: Duration = Duration::from_millis(1);

    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
            last: None,
        }
    }

    /// The step in seconds since the last reading, if there was one.
    pub fn look(&mut self) -> Option<f64> {
        let before = Instant::now();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        if before.elapsed() > Self::LOOK {
            return None;
        }
        let offset = wall - before.duration_since(self.origin).as_secs_f64();
        let step = offset - self.last.replace(offset)?;
        (step.abs() > Self::STEP).then_some(step)
    }
}
