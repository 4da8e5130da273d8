use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest time that is distinguished; longer times count as this.
pub const LONGEST: Duration = Duration::from_mins(10);

/// An empty histogram with three significant digits, which grows with its largest value. Runs count microseconds; the
/// bench counts nanoseconds, because the third digit of a 40 µs acquire is less than a microsecond.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    // The constructor accepts a precision of 0 to 5.
    let mut histogram = Histogram::new(3).expect("3 significant digits are valid");
    histogram.auto(true);
    histogram
}

/// A time in microseconds, at least 1.
#[must_use]
pub fn in_micros(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_micros()).map_or(u64::MAX, |micros| micros.max(1))
}

/// A time in nanoseconds, at least 1.
#[must_use]
pub fn in_nanos(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
}
