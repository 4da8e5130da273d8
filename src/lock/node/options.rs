use std::time::Duration;

/// How connections to nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The pause before the next attempt after a connection was refused or broke. 1 ms at least, and 100 ms at most: a node that
    /// came back must be usable soon.
    pub reconnect_backoff: Duration,
    /// How long a node may owe a reply. Afterwards it is suspect until it replies: whoever uses the connection goes on without it,
    /// and nothing new is asked of it. Who had asked it before waits for as long, from then on. More than the longest usual round
    /// trip.
    pub node_timeout: Duration,
    /// A peer that is not heard of for so long although something was sent to it is given up: its connection breaks
    /// (`TCP_USER_TIMEOUT` and keepalive, on Linux; elsewhere keepalive alone). This is about networks that swallow
    /// packets. A node that is merely stopped is heard of, since its kernel answers, until its buffers are full.
    pub give_up: Duration,
}

impl Default for NodeOptions {
    /// 1 s to connect, 50 ms before the next try, 40 ms for a reply, 30 s until a silent peer is given up. 40 ms suit nodes in the
    /// same data centre; nodes that are further away, or that write to disk before they reply, need more.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            node_timeout: Duration::from_millis(40),
            give_up: Duration::from_secs(30),
        }
    }
}
