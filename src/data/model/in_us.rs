//! Times in JSON: whole microseconds, in fields whose names end with `_us`. Instants count from second 0 of the measured part.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Half a microsecond: less than this is rounded down.
const HALF: Duration = Duration::from_nanos(500);

/// The most microseconds that are exact as a number of seconds: 285 years.
const EXACT: u64 = 1 << 53;

/// A time that JSON has in microseconds, or null.
pub trait InMicros: Sized {
    /// Its microseconds, the nearest whole number; `None` if there is no time.
    fn micros(&self) -> Option<i64>;

    /// The time of so many microseconds; `None` if there is no such time.
    fn of(micros: Option<i64>) -> Option<Self>;
}

impl InMicros for Duration {
    fn micros(&self) -> Option<i64> {
        Some(i64::try_from(self.saturating_add(HALF).as_micros()).unwrap_or(i64::MAX))
    }

    fn of(micros: Option<i64>) -> Option<Self> {
        u64::try_from(micros?).ok().map(Self::from_micros)
    }
}

/// Seconds, which may be negative.
impl InMicros for f64 {
    fn micros(&self) -> Option<i64> {
        let size = Duration::try_from_secs_f64(self.abs()).unwrap_or_default().micros()?;
        Some(if *self < 0.0 { -size } else { size })
    }

    fn of(micros: Option<i64>) -> Option<Self> {
        Some(micros.filter(|micros| micros.unsigned_abs() <= EXACT)? as Self / 1e6)
    }
}

impl<T: InMicros> InMicros for Option<T> {
    fn micros(&self) -> Option<i64> {
        self.as_ref()?.micros()
    }

    fn of(micros: Option<i64>) -> Option<Self> {
        micros.map_or(Some(None), |micros| T::of(Some(micros)).map(Some))
    }
}

/// Writes a time, for `#[serde(with = "in_us")]`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(time: &impl InMicros, serializer: S) -> Result<S::Ok, S::Error> {
    time.micros().serialize(serializer)
}

/// Reads a time.
///
/// # Errors
/// Those of the deserializer; it is no whole number, or negative where no time is.
pub fn deserialize<'de, T: InMicros, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let micros = Option::deserialize(deserializer)?;
    T::of(micros).ok_or_else(|| D::Error::custom("is no time in microseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[expect(clippy::struct_field_names, reason = "as in a record")]
    struct Times {
        #[serde(with = "super")]
        at_us: f64,
        #[serde(with = "super")]
        effect_us: Option<f64>,
        #[serde(with = "super")]
        ttl_us: Duration,
    }

    #[test]
    fn times_are_whole_microseconds() {
        let times = |at_us, effect_us, nanos| Times {
            at_us,
            effect_us,
            ttl_us: Duration::from_nanos(nanos),
        };
        let cases = [
            (
                times(-1.25, None, 0),
                r#"{"at_us":-1250000,"effect_us":null,"ttl_us":0}"#,
            ),
            (
                times(4.123_456, Some(0.3), 2_000),
                r#"{"at_us":4123456,"effect_us":300000,"ttl_us":2}"#,
            ),
        ];
        for (times, text) in cases {
            assert_eq!(serde_json::to_string(&times).unwrap(), text);
            assert_eq!(serde_json::from_str::<Times>(text).unwrap(), times);
        }
        let rounded = serde_json::to_string(&times(0.000_000_6, None, 1_600)).unwrap();
        assert_eq!(rounded, r#"{"at_us":1,"effect_us":null,"ttl_us":2}"#);
        for wrong in [
            r#"{"at_us":1.5,"effect_us":null,"ttl_us":0}"#,
            r#"{"at_us":1,"effect_us":null,"ttl_us":-1}"#,
            r#"{"at_us":null,"effect_us":null,"ttl_us":1}"#,
            r#"{"at_us":-9223372036854775808,"effect_us":null,"ttl_us":1}"#,
        ] {
            assert!(serde_json::from_str::<Times>(wrong).is_err(), "{wrong}");
        }
    }
}
