use std::sync::OnceLock;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The part of a run that a request belongs to, by its start (in an open loop the intended one). Everything that the
/// request does and causes is counted there, no matter when it happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The request began before second 0; it does not count.
    #[default]
    WarmUp,
    /// The request began at second 0 or later.
    Measured,
}

/// When something was counted, to a tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum When {
    /// This tenth of a second; 0 is the first of the measured part.
    Tenth(i64),
    /// After the load had ended, while the workers finished.
    #[default]
    AfterEnd,
}

/// The two instants that divide a run: second 0 and the end of the load. Everything that counts reads them here, so that
/// all arms are cut at the same instants.
#[derive(Debug)]
pub struct Timeline {
    origin: OnceLock<Instant>,
    /// Microseconds after second 0.
    end: AtomicI64,
}

/// The length of a tenth of a second in microseconds.
const TENTH_US: i64 = 100_000;

impl Timeline {
    /// The timeline of a run whose second 0 is not known yet: everything is warm-up.
    pub const fn new() -> Self {
        Self {
            origin: OnceLock::new(),
            end: AtomicI64::new(i64::MAX),
        }
    }

    /// The timeline of a run whose second 0 is `origin`.
    pub fn from(origin: Instant) -> Self {
        let timeline = Self::new();
        timeline.begin(origin);
        timeline
    }

    /// Sets second 0 to `origin`. Only the first call counts.
    pub fn begin(&self, origin: Instant) {
        let _ = self.origin.set(origin);
    }

    /// Plans the end of the load, while it goes on: nothing is counted in a second after it. With `None` it has no end yet.
    pub fn plan(&self, end: Option<Instant>) {
        self.end.store(end.map_or(i64::MAX, |end| self.micros(end)), Relaxed);
    }

    /// Sets the end of the load to `end`, unless it was planned to be earlier.
    pub fn end(&self, end: Instant) {
        self.end.fetch_min(self.micros(end), Relaxed);
    }

    /// The length of the measured part; `None` while it is not known.
    pub fn length(&self) -> Option<Duration> {
        let micros = u64::try_from(self.end.load(Relaxed).max(0)).ok()?;
        (micros < i64::MAX.cast_unsigned()).then(|| Duration::from_micros(micros))
    }

    /// Second 0, once it is known.
    pub fn origin(&self) -> Option<Instant> {
        self.origin.get().copied()
    }

    /// The part that a request with this start belongs to.
    pub fn part(&self, start: Instant) -> Part {
        match self.origin() {
            Some(origin) if start >= origin => Part::Measured,
            _ => Part::WarmUp,
        }
    }

    /// Microseconds from second 0 to `at`, negative before it.
    pub fn micros(&self, at: Instant) -> i64 {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        match self.origin() {
            None => -1,
            Some(origin) => at
                .checked_duration_since(origin)
                .map_or_else(|| -micros(origin.duration_since(at)).max(1), micros),
        }
    }

    /// The tenth of a second that `at` lies in.
    pub fn when(&self, at: Instant) -> When {
        self.when_micros(self.micros(at))
    }

    /// The tenth of a second that `micros` microseconds after second 0 lies in.
    pub fn when_micros(&self, micros: i64) -> When {
        if micros >= self.end.load(Relaxed) {
            When::AfterEnd
        } else {
            When::Tenth(micros.div_euclid(TENTH_US))
        }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

impl When {
    /// The second that it lies in; `None` after the end.
    pub const fn second(self) -> Option<i64> {
        match self {
            Self::Tenth(tenth) => Some(tenth.div_euclid(10)),
            Self::AfterEnd => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_0_and_the_end_divide_a_run() {
        let origin = Instant::now() + Duration::from_secs(100);
        let at = |ms: u64| origin.checked_sub(Duration::from_secs(10)).unwrap() + Duration::from_millis(ms);
        let timeline = Timeline::new();
        assert_eq!(
            timeline.part(at(20_000)),
            Part::WarmUp,
            "nobody knows yet when it begins"
        );
        timeline.begin(origin);
        assert_eq!(
            [9_999, 10_000].map(|ms| timeline.part(at(ms))),
            [Part::WarmUp, Part::Measured]
        );
        assert_eq!(
            [9_950, 10_000, 10_099, 10_100, 12_345].map(|ms| timeline.when(at(ms))),
            [-1, 0, 0, 1, 23].map(When::Tenth)
        );
        timeline.end(at(12_000));
        assert_eq!(timeline.when(at(11_999)), When::Tenth(19));
        assert_eq!(timeline.when(at(12_000)), When::AfterEnd);
        assert_eq!(timeline.when_micros(1_999_999), When::Tenth(19));
        assert_eq!(timeline.when_micros(2_000_000), When::AfterEnd);
        assert_eq!(timeline.length(), Some(Duration::from_secs(2)));
        timeline.end(at(13_000));
        assert_eq!(timeline.when(at(12_500)), When::AfterEnd, "the plan stands");
        timeline.plan(None);
        assert_eq!((timeline.when(at(12_500)), timeline.length()), (When::Tenth(25), None));
        timeline.plan(Some(at(12_100)));
        assert_eq!(
            [12_000, 12_100].map(|ms| timeline.when(at(ms))),
            [When::Tenth(20), When::AfterEnd]
        );
        timeline.end(at(11_000));
        assert_eq!(timeline.when(at(11_500)), When::AfterEnd, "stopped earlier");
        assert_eq!(
            [When::Tenth(-1), When::Tenth(19)].map(When::second),
            [Some(-1), Some(1)]
        );
    }
}
