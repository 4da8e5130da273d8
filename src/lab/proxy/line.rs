use std::time::Duration;

/// What is wrong with the network between a host and everybody else; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// How much later everything arrives, each way.
    pub delay: Duration,
}
