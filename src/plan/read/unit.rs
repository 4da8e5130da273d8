use serde::Serialize;

use crate::seconds::DAY;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[strum(serialize = "ns")]
    #[serde(rename = "ns")]
    Nanos,
    /// Microseconds.
    #[strum(serialize = "us")]
    #[serde(rename = "us")]
    Micros,
    /// Milliseconds.
    #[strum(serialize = "ms")]
    #[serde(rename = "ms")]
    Millis,
    /// Seconds.
    #[strum(serialize = "s")]
    #[serde(rename = "s")]
    Seconds,
    /// Minutes.
    #[strum(serialize = "min")]
    #[serde(rename = "min")]
    Minutes,
    /// Hours.
    #[strum(serialize = "h")]
    #[serde(rename = "h")]
    Hours,
    /// Days.
    #[strum(serialize = "d")]
    #[serde(rename = "d")]
    Days,
}

/// What says in which unit the numbers of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitBy {
    /// The name of the column or of the metric.
    Name,
    /// A line `# UNIT` of the file.
    Metadata,
    /// `--unit`.
    Option,
}

/// What a name or a file says of its unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    Time(TimeUnit),
    /// This word, which is no unit of time.
    Other(String),
}

impl TimeUnit {
    /// One of them in seconds.
    pub(super) const fn seconds(self) -> f64 {
        match self {
            Self::Nanos => 1e-9,
            Self::Micros => 1e-6,
            Self::Millis => 1e-3,
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3600.0,
            Self::Days => DAY,
        }
    }

    /// The unit of a column or a histogram: the one in its name, in the file's metadata, or the one that is given; they must agree.
    /// `None` if nothing says it.
    pub(super) fn named(
        name: &str,
        metadata: Option<&str>,
        given: Option<Self>,
    ) -> Result<Option<(Self, UnitBy)>, String> {
        let stated = [
            (Unit::of_name(name), UnitBy::Name),
            (metadata.map(Unit::of_word), UnitBy::Metadata),
        ];
        let mut found: Option<(Self, UnitBy)> = None;
        for (unit, by) in stated {
            let says = if by == UnitBy::Name {
                "by its name"
            } else {
                "by its line # UNIT"
            };
            match (unit, found) {
                (None, _) => {}
                (Some(Unit::Other(word)), _) => {
                    return Err(format!("\"{name}\" is in {word} {says}, which is no time"));
                }
                (Some(Unit::Time(unit)), Some((other, _))) if unit != other => {
                    return Err(format!(
                        "\"{name}\" is in {other} by its name and in {unit} {says}; correct one of them"
                    ));
                }
                (Some(Unit::Time(unit)), _) => found = found.or(Some((unit, by))),
            }
        }
        match (found, given) {
            (Some((named, by)), Some(given)) if named != given => Err(format!(
                "\"{name}\" is in {named} by its {}, and --unit says {given}; leave --unit out, or rename it",
                if by == UnitBy::Name { "name" } else { "line # UNIT" }
            )),
            (found, given) => Ok(found.or(given.map(|given| (given, UnitBy::Option)))),
        }
    }

    /// The unit that a word is.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        match word {
            "ns" | "nsec" | "nsecs" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Some(Self::Nanos),
            "us" | "µs" | "μs" | "usec" | "usecs" | "micro" | "micros" | "microsecond" | "microseconds" => {
                Some(Self::Micros)
            }
            "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => Some(Self::Millis),
            "s" | "sec" | "secs" | "second" | "seconds" => Some(Self::Seconds),
            "min" | "mins" | "minute" | "minutes" => Some(Self::Minutes),
            "h" | "hr" | "hrs" | "hour" | "hours" => Some(Self::Hours),
            "d" | "day" | "days" => Some(Self::Days),
            _ => None,
        }
    }
}

impl Unit {
    fn of_word(word: &str) -> Self {
        let word = word.to_lowercase();
        TimeUnit::of_word(&word).map_or(Self::Other(word), Self::Time)
    }

    /// The unit that a name states: `hold_ms`, `lock_hold_seconds`, `holdMillis`, `hold (ms)`, `http_response_bytes`. The last such word
    /// counts; those that mean something else too (`min_hold_ms`) only at the end.
    fn of_name(name: &str) -> Option<Self> {
        /// Units of other things: Prometheus' base units, and what else sizes and shares are given in.
        const OTHERS: [&str; 17] = [
            "bytes", "byte", "kb", "kib", "mb", "mib", "gb", "gib", "bits", "ratio", "percent", "celsius", "meters",
            "grams", "joules", "volts", "amperes",
        ];
        let words = words(name);
        let last = words.len().checked_sub(1)?;
        let unit = |(place, word): (usize, &String)| {
            let is_clear = place == last
                || word.ends_with("seconds")
                || matches!(word.as_str(), "ms" | "us" | "ns" | "minutes" | "hours" | "days");
            match TimeUnit::of_word(word).filter(|_| is_clear) {
                // Holds per second are no time.
                Some(_) if place > 0 && words[place - 1] == "per" => Some(Self::Other(format!("something per {word}"))),
                Some(unit) => Some(Self::Time(unit)),
                None => OTHERS.contains(&word.as_str()).then(|| Self::Other(word.clone())),
            }
        };
        words.iter().enumerate().rev().find_map(unit)
    }
}

/// The words of a name in lower case: `hold_ms`, `holdMs`, `Hold (ms)`, `lock.hold`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_name_is_its_last_word_that_is_one() {
        for (name, unit) in [
            ("hold_ms", Some("ms")),
            ("holdMillis", Some("ms")),
            ("Hold (ms)", Some("ms")),
            ("hold µs", Some("us")),
            ("lock_hold_nanoseconds", Some("ns")),
            ("batch_duration_minutes", Some("min")),
            ("hold_min", Some("min")),
            ("hold_days", Some("d")),
            ("hold_m", None),
            ("min_hold_ms", Some("ms")),
            ("min_hold", None),
            ("hold_seconds_total", Some("s")),
            ("second_hold", None),
            ("hold", None),
            ("holds", None),
            ("", None),
        ] {
            let found = TimeUnit::named(name, None, None).map(|found| found.map(|(unit, _)| unit.to_string()));
            assert_eq!(found, Ok(unit.map(str::to_owned)), "{name}");
        }
        for name in [
            "http_response_bytes",
            "hold_ratio",
            "holds_per_second",
            "bytes_per_hold_ms_ratio",
        ] {
            assert!(
                TimeUnit::named(name, None, None).is_err_and(|why| why.contains("no time")),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_said_twice_must_agree() {
        let named = |name, metadata, given| TimeUnit::named(name, metadata, given);
        assert_eq!(
            named("hold", Some("milliseconds"), None),
            Ok(Some((TimeUnit::Millis, UnitBy::Metadata)))
        );
        assert_eq!(
            named("hold", None, Some(TimeUnit::Hours)),
            Ok(Some((TimeUnit::Hours, UnitBy::Option)))
        );
        assert_eq!(
            named("hold_ms", Some("milliseconds"), Some(TimeUnit::Millis)),
            Ok(Some((TimeUnit::Millis, UnitBy::Name)))
        );
        for (name, metadata, given, said) in [
            (
                "hold_min",
                None,
                Some(TimeUnit::Seconds),
                "in min by its name, and --unit says s",
            ),
            (
                "hold",
                Some("seconds"),
                Some(TimeUnit::Millis),
                "in s by its line # UNIT, and --unit says ms",
            ),
            (
                "hold_ms",
                Some("seconds"),
                None,
                "in ms by its name and in s by its line # UNIT",
            ),
            (
                "size",
                Some("bytes"),
                None,
                "in bytes by its line # UNIT, which is no time",
            ),
        ] {
            assert!(
                named(name, metadata, given).is_err_and(|why| why.contains(said)),
                "{said}"
            );
        }
    }
}
