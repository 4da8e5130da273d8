//! What the driver of a round tells its app servers.

use std::time::Instant;

/// How far a round is, as the driver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Clients connect.
    Connect,
    /// Tasks run.
    Load,
    /// A node came back at this moment, and tasks run.
    Back(Instant),
    /// Tasks end.
    Stop,
    /// The runtime ends.
    Close,
}
