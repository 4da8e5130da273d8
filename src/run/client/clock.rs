//! The clock of a client, seen from here.

use std::time::{Duration, Instant};

/// How a client's clock relates to ours: when its clock showed `t`, ours showed `asked` at the earliest.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    asked: Instant,
    took: Duration,
    t: i64,
}

impl Clock {
    /// A client that was asked then, and whose answer has come after so long.
    pub const fn new(asked: Instant, took: Duration, t: i64) -> Self {
        Self { asked, took, t }
    }

    /// The better one of two: that of the shorter round trip.
    pub fn better(self, other: Self) -> Self {
        if other.took < self.took { other } else { self }
    }

    /// The earliest time that `until` can be by our clock: a promise is never taken for longer than it was given.
    pub fn ours(&self, until: i64) -> Instant {
        let ahead = until.saturating_sub(self.t);
        let by = Duration::from_nanos(ahead.unsigned_abs());
        let moved = if ahead >= 0 {
            self.asked.checked_add(by)
        } else {
            self.asked.checked_sub(by)
        };
        // What no clock can show is either centuries ahead, or long over.
        moved.unwrap_or(if ahead >= 0 {
            self.asked + Duration::from_hours(1_000_000)
        } else {
            self.asked
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_never_taken_for_longer_than_it_was_given() {
        let asked = Instant::now();
        let far = Clock::new(asked, Duration::from_millis(8), 1_000);
        let near = Clock::new(asked + Duration::from_millis(1), Duration::from_millis(2), 5_001_000);
        let clock = far.better(near);
        // Its clock showed 5,001,000 at some time between 1 and 3 ms after `asked`.
        assert_eq!(clock.ours(7_001_000), asked + Duration::from_millis(3));
        assert_eq!(clock.ours(4_001_000), asked);
        assert!(clock.ours(i64::MAX) > asked + Duration::from_hours(24));
        assert!(clock.ours(i64::MIN) <= asked + Duration::from_millis(1));
    }
}
