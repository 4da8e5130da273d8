use std::fmt;
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

/// Why a text is not an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadAxis(String);

impl fmt::Display for BadAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadAxis {}

impl FromStr for Axis {
    type Err = BadAxis;

    fn from_str(text: &str) -> Result<Self, BadAxis> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| BadAxis("write KEY=VALUE,VALUE,… like ttl=50ms,100ms,200ms".to_owned()))?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(BadAxis(
                "a key or a value is missing; write KEY=VALUE,VALUE,…".to_owned(),
            ));
        }
        if let Some(twice) = values
            .iter()
            .enumerate()
            .find(|(place, value)| values[..*place].contains(value))
        {
            return Err(BadAxis(format!("{} is there twice", twice.1)));
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
