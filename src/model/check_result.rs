use serde::{Deserialize, Serialize};

/// What became of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// It held.
    Held,
    /// It did not.
    Failed,
    /// It could not show: its cause did not occur (a fault without verified effect, stock not sold out).
    Inconclusive,
}
