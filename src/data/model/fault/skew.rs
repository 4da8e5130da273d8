use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::setting::setting;

/// How a wall clock is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Skew {
    /// How many milliseconds it is ahead of the true time when that begins; negative if it is behind.
    pub ahead_ms: i64,
    /// How fast it runs from then on, in parts per million of the true rate: 1,000,000 is right, 0 stands still.
    pub rate_ppm: u32,
}

impl Skew {
    /// The true rate.
    pub const TRUE_RATE: u32 = 1_000_000;
    /// A clock that is right.
    pub const NONE: Self = Self {
        ahead_ms: 0,
        rate_ppm: Self::TRUE_RATE,
    };
    /// The smallest shift, in milliseconds, that can be verified.
    pub const LEAST_MS: i64 = 10;
    /// The smallest error of a rate, in parts per million, that can be verified within some five seconds.
    pub const LEAST_PPM: u32 = 1_000;
    /// The largest shift: a day.
    pub const MOST_MS: i64 = 24 * 3600 * 1000;
    /// The fastest clock runs so many times as fast as a true one.
    pub const FASTEST: u32 = 10;

    /// How far it is ahead after this time, in microseconds.
    pub fn ahead_us_after(self, time: Duration) -> i64 {
        let gained = i128::from(self.rate_ppm) - i128::from(Self::TRUE_RATE);
        // A run is much shorter than the 290,000 years that this can hold.
        let gained = i64::try_from(gained * i128::try_from(time.as_micros()).unwrap_or(i128::MAX) / 1_000_000);
        gained.unwrap_or(i64::MAX).saturating_add(self.ahead_ms * 1000)
    }
}

impl Default for Skew {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = setting(Duration::from_millis(self.ahead_ms.unsigned_abs()));
        let shift = match self.ahead_ms {
            0 => None,
            1.. => Some(format!("{by} ahead")),
            _ => Some(format!("{by} behind")),
        };
        let percent = (f64::from(self.rate_ppm) / f64::from(Self::TRUE_RATE) - 1.0) * 100.0;
        let rate = match self.rate_ppm.cmp(&Self::TRUE_RATE) {
            Ordering::Equal => None,
            Ordering::Less if self.rate_ppm == 0 => Some("standing still".to_owned()),
            Ordering::Less => Some(format!("{} % slow", short(-percent))),
            Ordering::Greater => Some(format!("{} % fast", short(percent))),
        };
        let all: Vec<String> = shift.into_iter().chain(rate).collect();
        match all.is_empty() {
            true => f.write_str("right"),
            false => f.write_str(&all.join(", ")),
        }
    }
}

/// `0.1`, `50`.
fn short(percent: f64) -> String {
    let digits = format!("{percent:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skew_in_words_and_how_it_grows() {
        let skew = |ahead_ms, rate_ppm| Skew { ahead_ms, rate_ppm };
        for (skew, words, after_two_seconds) in [
            (Skew::NONE, "right", 0),
            (skew(2_000, Skew::TRUE_RATE), "2 s ahead", 2_000_000),
            (skew(-60_000, Skew::TRUE_RATE), "60 s behind", -60_000_000),
            (skew(0, 0), "standing still", -2_000_000),
            (skew(0, 1_001_000), "0.1 % fast", 2_000),
            (skew(0, 500_000), "50 % slow", -1_000_000),
            (skew(500, 1_500_000), "500 ms ahead, 50 % fast", 1_500_000),
        ] {
            assert_eq!(skew.to_string(), words);
            assert_eq!(
                skew.ahead_us_after(Duration::from_secs(2)),
                after_two_seconds,
                "{words}"
            );
        }
    }
}
