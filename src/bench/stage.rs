//! What the driver of a round tells its app servers.

use std::time::Instant;

/// The stage of a round, as the driver announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Clients connect.
    Connect,
    /// Tasks run.
    Load,
    /// A node came back at this instant; tasks run.
    Back(Instant),
    /// Tasks end.
    Stop,
    /// The runtime ends.
    Close,
}
