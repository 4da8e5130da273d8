use serde::Serialize;

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There is no significant difference, and what is left of uncertainty is within the margin.
    Agrees,
    /// There is no significant difference, but too few samples to rule one out that matters.
    Undecided,
    /// They differ.
    Differs,
}
