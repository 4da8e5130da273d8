use std::time::Duration;

use crate::clock::FOREVER;
use crate::protocol::Link;

/// How connections to nodes are made. Its setters have the names of its fields:
///
/// ```
/// # use std::time::Duration;
/// use lockstorm_lock::NodeOptions;
///
/// const FAR_AWAY: NodeOptions = NodeOptions::new().node_timeout(Duration::from_millis(500));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeOptions {
    /// How long one attempt to connect may take. Commands wait for the first connection, and for the one after a connection that
    /// broke, as long as for two replies (twice the `node_timeout`), but not longer than this.
    pub connect_timeout: Duration,
    /// The pause before the next attempt after a connection was refused, or broke before it was as old as this; an older one is
    /// made again at once. At least 1 ms, and at most 100 ms, since a node that came back must be usable soon. As long as a node
    /// does not let us in (wrong password, missing permission, TLS) the pause is doubled each time, up to 5 s.
    pub reconnect_backoff: Duration,
    /// How long a node may owe a reply. After that it is suspect until it replies: callers go on without it, and it is sent
    /// nothing new but deletes. A caller that has asked it waits for its answer for as long, counted from the writing.
    /// Choose more than the longest usual round trip.
    pub node_timeout: Duration,
    /// How long a peer may leave what was sent to it unacknowledged. Then it is given up: its connection breaks (by
    /// `TCP_USER_TIMEOUT` and keepalive on Linux, by keepalive alone elsewhere). This is for networks that drop packets. What is
    /// acknowledged is not always answered: a node that has been suspect for as long, without a reply, is tried on a second
    /// connection, every so long. A node that was merely stopped answers on neither, but what stands between may have forgotten the
    /// first. If it answers on the second one alone, that takes the place of the first, which gets nothing new from then on but
    /// deletes of what may still come by it. At least 1 ms.
    pub give_up: Duration,
    /// Whether a vote or an extension counts only if replicas of the node have confirmed it. `None`, the default, does not
    /// ask them.
    pub wait_replicas: Option<WaitReplicas>,
    /// The length of the longest key of a lock in bytes; an acquire of a longer one is refused before anything is sent. A server
    /// closes the connection on which a key comes that is longer than its `proto-max-bulk-len`, and all who share that
    /// connection suffer.
    pub longest_key: usize,
}

/// How many replicas of a node must confirm a vote or an extension, and how soon.
///
/// One `WAIT` follows each batch of commands that are written together. A lock that it does not confirm is taken back, with the
/// cause [`Unreplicated`](crate::Cause::Unreplicated); an extension that it does not confirm counts as not made. Releases are not
/// waited for, but as a node answers nothing on a connection that waits, they may take as long. The validity counts from before
/// the command, and the [`node_timeout`](NodeOptions::node_timeout) is longer by this timeout.
///
/// The node's user must be allowed to run `WAIT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitReplicas {
    /// How many replicas; 0 is the same as no wait. Any one of them may become the master: only if *all* replicas must confirm,
    /// a lock survives each of them.
    pub replicas: u32,
    /// How long the node waits for them; whole milliseconds, at least 1. Choose less than the TTL, and more than a round trip
    /// to the replicas.
    pub timeout: Duration,
}

/// The bounds of the pause before the next attempt to connect.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(1);
const LONGEST_BACKOFF: Duration = Duration::from_millis(100);

/// Setters with the names of the fields.
macro_rules! setters {
    ($($field:ident: $type:ty => $value:expr),+ $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            #[must_use]
            pub const fn $field(mut self, $field: $type) -> Self {
                self.$field = $value;
                self
            }
        )+
    };
}

impl NodeOptions {
    /// 1 s to connect, 50 ms before the next attempt, 40 ms for a reply, 5 s until a silent peer is given up, no wait for
    /// replicas, keys of 8 KiB. 40 ms suit nodes in the same data centre; nodes that are further away, or that write to disk
    /// before they reply, need more.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            node_timeout: Duration::from_millis(40),
            give_up: Duration::from_secs(5),
            wait_replicas: None,
            longest_key: 8 << 10,
        }
    }

    setters! {
        connect_timeout: Duration => connect_timeout,
        reconnect_backoff: Duration => reconnect_backoff,
        node_timeout: Duration => node_timeout,
        give_up: Duration => give_up,
        wait_replicas: WaitReplicas => Some(wait_replicas),
        longest_key: usize => longest_key,
    }

    /// These options, brought into range.
    pub(crate) fn bounded(self) -> Self {
        Self {
            reconnect_backoff: self.reconnect_backoff.clamp(SHORTEST_BACKOFF, LONGEST_BACKOFF),
            give_up: self.give_up.max(SHORTEST_BACKOFF),
            wait_replicas: self
                .wait_replicas
                .filter(|wait| wait.replicas > 0)
                .map(WaitReplicas::bounded),
            ..self
        }
    }

    /// How long commands wait for a connection that is being made.
    pub(crate) fn connection_wait(&self) -> Duration {
        Link::connection_wait(self.node_timeout).min(self.connect_timeout)
    }

    /// How long a node may owe a reply, if it may have to wait for replicas before.
    pub(crate) fn owed_within(&self) -> Duration {
        let wait = self.wait_replicas.map_or(Duration::ZERO, |wait| wait.timeout);
        self.node_timeout.saturating_add(wait).min(FOREVER)
    }
}

impl WaitReplicas {
    /// So many replicas, within this time.
    #[must_use]
    pub const fn new(replicas: u32, timeout: Duration) -> Self {
        Self { replicas, timeout }
    }

    /// Nodes count in whole milliseconds, and 0 would be for ever.
    fn bounded(self) -> Self {
        let longest = u64::try_from(FOREVER.as_millis()).unwrap_or(u64::MAX);
        let millis = u64::try_from(self.timeout.as_millis()).unwrap_or(longest);
        Self {
            timeout: Duration::from_millis(millis.clamp(1, longest)),
            ..self
        }
    }
}

impl Default for NodeOptions {
    /// [`NodeOptions::new`].
    fn default() -> Self {
        Self::new()
    }
}
