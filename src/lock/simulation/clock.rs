use crate::protocol::Time;

/// The rate of a clock that is neither fast nor slow, as a fixed-point 1.
const TRUE_RATE: u64 = 1 << 62;

/// How far a clock can be set ahead, in nanoseconds: a century.
const MOST_AHEAD: u64 = 100 * 366 * 86_400 * 1_000_000_000;

/// Later than all events.
pub(super) const NEVER: u64 = u64::MAX;

/// The clock of a node or an app server: it starts at any value, and is a little fast or slow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    offset: u64,
    /// Its nanoseconds per nanosecond of true time, and the inverse, both in units of [`TRUE_RATE`].
    rate: u64,
    inverse: u64,
}

impl Clock {
    /// A clock that shows `offset` nanoseconds at the beginning and is fast by `ppm` millionths, or slow if that is negative.
    pub(super) fn new(offset: u64, ppm: i32) -> Self {
        let change = TRUE_RATE / 1_000_000 * u64::from(ppm.unsigned_abs());
        let rate = if ppm < 0 {
            TRUE_RATE - change
        } else {
            TRUE_RATE + change
        };
        let inverse = (u128::from(TRUE_RATE) * u128::from(TRUE_RATE)) / u128::from(rate);
        Self {
            offset,
            rate,
            // This fits: a clock has at least half the true rate.
            inverse: u64::try_from(inverse).unwrap_or(u64::MAX),
        }
    }

    /// The time that it shows at `now` nanoseconds of true time.
    pub(super) const fn at(&self, now: u64) -> Time {
        Time::from_nanos(self.offset + scale(now, self.rate))
    }

    /// It shows `by` nanoseconds more from now on. A clock that is a century ahead stays where it is, since nanoseconds in 64 bits
    /// end soon after.
    pub(super) fn jump(&mut self, by: u64) {
        self.offset = self.offset.saturating_add(by).min(self.offset.max(MOST_AHEAD));
    }

    /// It shows `by` nanoseconds less from now on, as far as it can. Returns how many.
    pub(super) fn jump_back(&mut self, by: u64) -> u64 {
        let by = by.min(self.offset);
        self.offset -= by;
        by
    }

    /// The time that it shows at `now` nanoseconds of true time, in whole milliseconds, in which nodes expire keys.
    pub(super) const fn millis(&self, now: u64) -> u64 {
        self.at(now).as_nanos() / 1_000_000
    }

    /// The true time at which this millisecond begins.
    pub(super) fn when_millis(&self, millis: u64) -> u64 {
        self.when(Time::from_nanos(millis.saturating_mul(1_000_000)))
    }

    /// The first nanosecond of true time at which it shows this or more.
    pub(super) fn when(&self, time: Time) -> u64 {
        let elapsed = time.as_nanos().saturating_sub(self.offset);
        if elapsed >= TRUE_RATE {
            return NEVER;
        }
        let mut now = scale(elapsed, self.inverse);
        // The inverse is rounded, so the result is off by one or two.
        while self.at(now) < time {
            now += 1;
        }
        while now > 0 && self.at(now - 1) >= time {
            now -= 1;
        }
        now
    }
}

const fn scale(value: u64, rate: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "times are below 2^62 ns (146 years), rates hardly above 1"
    )]
    {
        ((value as u128 * rate as u128) >> 62) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_fast_shows_more_and_one_that_is_slow_less() {
        let second = 1_000_000_000;
        assert_eq!(Clock::new(5, 0).at(second).as_nanos(), second + 5);
        assert!(Clock::new(0, 5000).at(second).as_nanos().abs_diff(1_005_000_000) < 2);
        assert!(Clock::new(0, -5000).at(second).as_nanos().abs_diff(995_000_000) < 2);
        assert_eq!(Clock::new(3_999_999, 0).millis(0), 3);
    }

    #[test]
    fn a_clock_jumps_forward_and_back_to_its_zero() {
        let mut clock = Clock::new(100, 0);
        clock.jump(50);
        assert_eq!(clock.at(7).as_nanos(), 157);
        assert_eq!((clock.jump_back(30), clock.at(7).as_nanos()), (30, 127));
        assert_eq!((clock.jump_back(1000), clock.at(7).as_nanos()), (120, 7));
    }

    #[test]
    fn the_time_at_which_a_clock_shows_something_is_the_first() {
        for ppm in [-5000, -1, 0, 1, 5000] {
            let clock = Clock::new(123, ppm);
            for time in [0, 122, 123, 124, 1_000_000_007, 86_400_000_000_000, 1 << 60] {
                let time = Time::from_nanos(time);
                let now = clock.when(time);
                assert!(clock.at(now) >= time && (now == 0 || clock.at(now - 1) < time));
            }
            assert_eq!(clock.when(Time::MAX), NEVER);
        }
    }
}
