use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// It held.
    Held,
    /// It did not hold.
    Failed,
    /// It could not be decided: its cause did not occur (a fault without a verified effect, stock that did not sell out).
    Inconclusive,
}
