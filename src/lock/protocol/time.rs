use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since an origin that the driver chooses, on a clock that never goes back. It spans 584
/// years; later times saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// So many nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This time less `duration`, but not before the origin.
    #[must_use]
    pub const fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Time {
    type Output = Duration;

    /// As [`Time::since`].
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// The nanoseconds of a duration, saturating.
const fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_neither_overflow_nor_go_below_the_origin() {
        let second = Duration::from_secs(1);
        let time = Time::ZERO + second;
        assert_eq!(time.as_nanos(), 1_000_000_000);
        assert_eq!((time - Time::ZERO, Time::ZERO - time), (second, Duration::ZERO));
        assert_eq!(time.before(second * 2), Time::ZERO);
        assert_eq!(Time::MAX + second, Time::MAX);
        assert_eq!(Time::ZERO + Duration::MAX, Time::MAX);
    }
}
