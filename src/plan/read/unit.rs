/// The unit of times in a file that does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum TimeUnit {
    /// Microseconds.
    #[strum(serialize = "us")]
    Micros,
    /// Milliseconds.
    #[strum(serialize = "ms")]
    Millis,
    /// Seconds.
    #[strum(serialize = "s")]
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

    /// The unit of a column or a histogram: the one that its name ends in, or the one that is given.
    pub(super) fn named(name: &str, given: Option<Self>) -> Result<Option<Self>, String> {
        match (Self::of_name(name), given) {
            (Some(named), Some(given)) if named != given => Err(format!(
                "\"{name}\" is in {named} by its name, and --unit says {given}; leave --unit out, or rename it"
            )),
            (named, given) => Ok(named.or(given)),
        }
    }

    /// The unit that a name ends in: `hold_ms`, `lock_hold_seconds`.
    fn of_name(name: &str) -> Option<Self> {
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
