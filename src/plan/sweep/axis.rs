use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A key of the scenario and the values that it takes: `ttl=50ms,100ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// A dotted path as in `--set`, or a key of arms, which then changes every arm that uses lock nodes.
    pub key: String,
    /// Its values, as they are written in `--set`.
    pub values: Vec<String>,
}

/// Where a value stands on an axis of numbers: a duration in seconds, a rate a second, a number; `None` if it is none of these or
/// not above zero, like `off` and `ttl/3`.
pub fn position(value: &str) -> Option<f64> {
    let number = || value.strip_suffix("/s").unwrap_or(value).trim().parse::<f64>().ok();
    let seconds = || humantime::parse_duration(value).ok().map(|time| time.as_secs_f64());
    number()
        .or_else(seconds)
        .filter(|position| *position > 0.0 && position.is_finite())
}

impl FromStr for Axis {
    /// A sentence.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| "write KEY=VALUE,VALUE,… like ttl=50ms,100ms,200ms".to_owned())?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err("a key or a value is missing; write KEY=VALUE,VALUE,…".to_owned());
        }
        if let Some(twice) = values
            .iter()
            .enumerate()
            .find(|(place, value)| values[..*place].contains(value))
        {
            return Err(format!("{} is there twice", twice.1));
        }
        Ok(Self {
            key: key.trim().to_owned(),
            values,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_rates_and_numbers_stand_on_an_axis_and_words_do_not() {
        let positions = ["50ms", "2m", "40/s", "16", "1.5"].map(position);
        assert_eq!(positions, [0.05, 120.0, 40.0, 16.0, 1.5].map(Some));
        assert_eq!(["off", "ttl/3", "0", "0s", "-1", "inf"].map(position), [None; 6]);
    }

    #[test]
    fn a_key_with_its_values() {
        let axis: Axis = "ttl=50ms, 100ms".parse().expect("an axis");
        assert_eq!(
            (axis.key.as_str(), axis.values),
            ("ttl", vec!["50ms".to_owned(), "100ms".to_owned()])
        );
        for text in ["ttl", "=1s", "ttl=", "ttl=1s,,2s", "ttl=1s,1s"] {
            assert!(text.parse::<Axis>().is_err(), "{text}");
        }
    }
}
