use std::time::Duration;

/// A range of durations from which one is drawn evenly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The shortest duration.
    pub least: Duration,
    /// The longest; not shorter than the shortest.
    pub most: Duration,
}

impl Span {
    /// Always the same duration.
    #[must_use]
    pub const fn of(duration: Duration) -> Self {
        Self {
            least: duration,
            most: duration,
        }
    }

    /// A range in microseconds.
    #[must_use]
    pub const fn micros(least: u64, most: u64) -> Self {
        Self {
            least: Duration::from_micros(least),
            most: Duration::from_micros(most),
        }
    }
}
