use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest time that is told apart; longer ones count as this.
pub const LONGEST: Duration = Duration::from_mins(10);

/// An empty histogram of three significant digits, that grows with its largest value. Runs count microseconds, the bench
/// nanoseconds: of an acquire of 40 µs the third digit is below a microsecond.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    // A precision of 3 is within the 0 to 5 that the constructor accepts.
    let mut histogram = Histogram::new(3).expect("3 significant digits are valid");
    histogram.auto(true);
    histogram
}

/// A time as it is counted in microseconds: 1 at least.
#[must_use]
pub fn in_micros(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_micros()).map_or(u64::MAX, |micros| micros.max(1))
}

/// A time as it is counted in nanoseconds: 1 at least.
#[must_use]
pub fn in_nanos(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
}
