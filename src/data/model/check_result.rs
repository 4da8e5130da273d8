use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an expectation, or of another check. Of several the last one in this order is that of all: one that failed outweighs one that
/// is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// It held.
    Held,
    /// It could not be decided: its cause did not occur (a fault without a verified effect, stock that did not sell out).
    Inconclusive,
    /// It did not hold.
    Failed,
}
