//! What a contender must be able to do.

use std::time::Duration;

use crate::lock::NodeAddress;

/// What the certificates of the lab's nodes are valid for.
const HOST: &str = "127.0.0.1";

/// What a client is made with.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// The lock nodes.
    pub nodes: Vec<NodeAddress>,
    /// Where they speak TLS, if the client is to talk to them so.
    pub tls_ports: Option<Vec<u16>>,
    /// The TTL of its locks.
    pub ttl: Duration,
    /// Whether an acquire waits while somebody else holds the lock.
    pub waits: bool,
    /// How often held locks are renewed; only the engine is asked to.
    pub renew: Option<Duration>,
    /// Draws its jitter.
    pub seed: u64,
}

impl Setup {
    /// The URLs of the nodes if the client is to talk to them over TLS. The password is in them: they are not to be shown.
    pub fn tls_urls(&self) -> Option<Vec<String>> {
        let ports = self.tls_ports.as_ref()?;
        let url = |(node, port): (&NodeAddress, &u16)| {
            // A lab's password is of letters and digits, and its nodes have no users.
            let password = node.credentials().map_or("", |(_, password)| password);
            format!("rediss://:{password}@{HOST}:{port}")
        };
        Some(self.nodes.iter().zip(ports).map(url).collect())
    }
}

/// Why an acquire was refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// One word, to be counted.
    pub kind: &'static str,
    /// All that the client says.
    pub text: String,
}

/// A lock client of one app server; clones share its connections.
pub(super) trait Client: Clone + Send + Sync + 'static {
    /// A lock that is held.
    type Held: Send + 'static;

    /// Connects as users of this client do, in the runtime of the app server.
    fn connect(setup: &Setup) -> impl Future<Output = Result<Self, String>> + Send;

    /// Acquires the lock on `key`.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Self::Held, Refused>> + Send;

    /// Releases it, and waits for as long as this client does.
    fn release(&self, key: &str, held: Self::Held) -> impl Future<Output = ()> + Send;

    /// The nodes that voted for a lock so far, where the client tells.
    fn votes(_: &Self::Held) -> Option<usize> {
        None
    }

    /// Whether a held lock is lost, where the client tells.
    fn is_lost(_: &Self::Held) -> bool {
        false
    }

    /// Reads how many attempts were made so far, from any thread; none where the client does not count.
    fn attempts(&self) -> Option<Box<dyn Fn() -> u64 + Send + Sync>> {
        None
    }
}
