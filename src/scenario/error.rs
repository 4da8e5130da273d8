//! What is wrong with a scenario: one line for each mistake.

use std::fmt;

use super::database_url::without_secrets;
use crate::model::printable;

/// One mistake in one line: `file:line: key: what; cure`, or `--flag: what; cure`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ScenarioError {
    /// The file with its line and key, or the flag of the command line.
    pub place: String,
    /// What is wrong and, where it can be told, what would be right.
    pub message: String,
}

impl ScenarioError {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            // Whatever a parser, the system or a name in the file says: one line.
            place: printable(shown(&place.into()).trim_end()),
            message: printable(message.into().trim_end()),
        }
    }
}

/// A place that is a URL by mistake, without what may be secret in it.
fn shown(place: &str) -> String {
    without_secrets(place).unwrap_or_else(|| place.to_owned())
}

/// Everything that is wrong with a scenario, in the order of the file, then of the flags. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}
