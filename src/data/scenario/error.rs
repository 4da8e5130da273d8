//! The mistakes in a scenario, one line each.

use std::fmt;

use super::database_url::without_secrets;
use crate::metrics::units::count;
use crate::model::printable;

/// One mistake in one line: `file:line: key: what is wrong; what to do`, or `--flag: what is wrong; what to do`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ScenarioError {
    /// The file with line and key, or the command line flag.
    pub place: String,
    /// What is wrong and, if it is known, what would be right.
    pub message: String,
}

impl ScenarioError {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        let place = place.into();
        Self {
            // A parser, the system or a name in the file may contain line breaks; this makes it one line. If the place is a URL by
            // mistake, secrets are left out.
            place: printable(without_secrets(&place).unwrap_or(place).trim_end()),
            message: printable(message.into().trim_end()),
        }
    }
}

/// How many mistakes are shown. A file with more has usually made the same mistake many times.
const SHOWN: usize = 20;

/// All mistakes in a scenario, in the order of the file and then of the flags. Never empty. The text shows the first
/// twenty, a line each, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().take(SHOWN).map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {} more", count(more as u64)),
        }
    }
}

impl std::error::Error for ScenarioErrors {}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_twenty_are_shown_and_the_others_counted() {
        let errors = |n: usize| {
            ScenarioErrors(
                (0..n)
                    .map(|n| ScenarioError::new(format!("line {n}"), "is wrong"))
                    .collect(),
            )
        };
        assert_eq!(errors(20).to_string().lines().count(), 20);
        let many = errors(10_000).to_string();
        assert_eq!(many.lines().count(), 21);
        assert_eq!(many.lines().nth(19), Some("line 19: is wrong"));
        assert_eq!(many.lines().last(), Some("… and 9,980 more"));
    }
}
