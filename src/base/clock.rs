//! Instants as numbers that other programs of the machine understand.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// `at` in nanoseconds of `CLOCK_MONOTONIC`: one clock for all processes of a machine, until it restarts. Differences between two
/// results are exact; the clock itself is met to within the time of a system call.
pub fn monotonic_ns(at: Instant) -> i64 {
    static FIRST: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (instant, clock) = *FIRST.get_or_init(|| {
        // Without that clock the numbers begin at zero.
        let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        (Instant::now(), clock)
    });
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match at.checked_duration_since(instant) {
        Some(later) => nanos(clock).saturating_add(nanos(later)),
        None => nanos(clock).saturating_sub(nanos(instant.duration_since(at))),
    }
}

/// The instant at which `CLOCK_MONOTONIC` was so many microseconds, if that is over.
pub fn at_monotonic_us(us: i64) -> Instant {
    let now = Instant::now();
    let ago = (monotonic_ns(now) / 1000).saturating_sub(us);
    let ago = Duration::from_micros(u64::try_from(ago).unwrap_or_default());
    now.checked_sub(ago).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_clock_of_the_machine() {
        let clock =
            || i64::try_from(Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos()).unwrap();
        let first = Instant::now();
        let _ = monotonic_ns(first);
        let before = clock();
        let read = monotonic_ns(Instant::now());
        let after = clock();
        let off = 20_000_000;
        assert!((before - off..=after + off).contains(&read), "{before} {read} {after}");
        let earlier = first.checked_sub(Duration::from_secs(2)).unwrap();
        assert_eq!(monotonic_ns(first) - monotonic_ns(earlier), 2_000_000_000);
        let again = monotonic_ns(at_monotonic_us(monotonic_ns(earlier) / 1000));
        assert!((monotonic_ns(earlier) - again).abs() <= 2_000, "{again}");
    }
}
