/// The unit of times in a file that does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// One of them in seconds.
    pub(super) const fn seconds(self) -> f64 {
        match self {
            Self::Micros => 1e-6,
            Self::Millis => 1e-3,
            Self::Seconds => 1.0,
        }
    }

    /// The unit that a name ends in: `hold_ms`, `lock_hold_seconds`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let is = |endings: &[&str]| {
            endings
                .iter()
                .any(|ending| name == *ending || name.ends_with(&format!("_{ending}")))
        };
        if is(&["us", "micros", "microseconds"]) {
            Some(Self::Micros)
        } else if is(&["ms", "millis", "milliseconds"]) {
            Some(Self::Millis)
        } else if is(&["s", "sec", "secs", "seconds"]) {
            Some(Self::Seconds)
        } else {
            None
        }
    }
}
