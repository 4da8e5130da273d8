use std::time::Duration;

use crate::cause::Cause;

/// How a node is, as [`Nodes::states`](crate::Nodes::states) tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeState {
    /// Where the node is, without user and password; `None` while nobody says.
    pub address: Option<String>,
    /// Whether it can be asked.
    pub link: LinkState,
    /// What was wrong last, which may be over: why a connection could not be made, for example, such as a certificate that has
    /// expired, or that it broke ([`Disconnected`](Cause::Disconnected)), or that replies were owed ([`Suspect`](Cause::Suspect)).
    pub last_error: Option<Cause>,
    /// How long ago that was.
    pub last_error_age: Option<Duration>,
}

/// Whether a node can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkState {
    /// It is connected.
    Connected,
    /// It is connected, but has owed a reply for too long: it is asked nothing new until it replies.
    Suspect,
    /// It is not connected.
    Down,
}
