use std::fmt;

/// Why there is no plan: what is wrong, where, and what would be right, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(String);

impl PlanError {
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}
