use std::time::Duration;

/// How connections to nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The pause before the next attempt after a connection was refused or broke. At least 1 ms, and at most 100 ms, since a
    /// node that came back must be usable soon.
    pub reconnect_backoff: Duration,
    /// How long a node may owe a reply. After that it is suspect until it replies: callers go on without it, and it is sent
    /// nothing new but deletes. A caller that has asked it waits for its answer for as long, counted from the writing.
    /// Choose more than the longest usual round trip.
    pub node_timeout: Duration,
    /// How long a peer may leave what was sent to it unacknowledged. Then it is given up: its connection breaks (by
    /// `TCP_USER_TIMEOUT` and keepalive on Linux, by keepalive alone elsewhere). This is for networks that drop packets. The
    /// kernel of a node that is merely stopped still acknowledges, until its buffers are full.
    pub give_up: Duration,
}

/// The bounds of the pause before the next attempt to connect.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(1);
const LONGEST_BACKOFF: Duration = Duration::from_millis(100);

impl NodeOptions {
    /// These options, brought into range.
    pub(crate) fn bounded(self) -> Self {
        Self {
            reconnect_backoff: self.reconnect_backoff.clamp(SHORTEST_BACKOFF, LONGEST_BACKOFF),
            ..self
        }
    }
}

impl Default for NodeOptions {
    /// 1 s to connect, 50 ms before the next attempt, 40 ms for a reply, 30 s until a silent peer is given up. 40 ms suit
    /// nodes in the same data centre; nodes that are further away, or that write to disk before they reply, need more.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            node_timeout: Duration::from_millis(40),
            give_up: Duration::from_secs(30),
        }
    }
}
