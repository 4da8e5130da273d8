//! The clock of a run, and how often it does its regular work.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::close::record::SecondZero;
use crate::show::events::seconds;
use lockstorm_data::metrics::Timeline;

/// How often a snapshot is published.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How often the conditions of faults are checked. It is short so that even a lock that is held for a moment is noticed.
pub(crate) const CONDITIONS: Duration = Duration::from_millis(10);

/// An interval that does not make up for what it has missed.
pub(crate) fn every(time: Duration) -> Interval {
    let mut interval = interval(time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// The clock of a run.
#[derive(Debug)]
pub(crate) struct Timing {
    /// Second 0 and the end, for everything that counts.
    pub timeline: Arc<Timeline>,
    /// When the measured part began, or will begin.
    pub origin: Instant,
    /// `origin` by the clocks of the machine, once the load has begun.
    pub second_zero: Option<SecondZero>,
    /// When the run began by the wall clock, before its lab was there.
    pub started: SystemTime,
}

impl Timing {
    /// Seconds of the measured part so far; negative before it.
    pub fn elapsed(&self) -> f64 {
        let length = self.timeline.length();
        let length = length.map_or(f64::INFINITY, |length| length.as_secs_f64());
        seconds(self.origin, Instant::now()).min(length)
    }
}
