//! The interface of a contender.

use std::time::Duration;

use super::links::Ways;
use lockstorm_lock::NodeAddress;

/// The name in the certificates of the lab's nodes.
const HOST: &str = "127.0.0.1";

/// What a client is made from.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// The lock nodes.
    pub nodes: Vec<NodeAddress>,
    /// The links to the nodes, if they are behind links.
    pub ways: Option<Ways>,
    /// The TLS ports of the nodes, if the client is to use TLS.
    pub tls_ports: Option<Vec<u16>>,
    /// The TTL of its locks.
    pub ttl: Duration,
    /// Whether an acquire waits while somebody else holds the lock.
    pub waits: bool,
    /// How often held locks are renewed; only the engine does this.
    pub renew: Option<Duration>,
    /// The seed of its jitter.
    pub seed: u64,
}

impl Setup {
    /// The URLs of the nodes, if the client is to use TLS. They contain the password, so they must not be shown.
    pub fn tls_urls(&self) -> Option<Vec<String>> {
        let ports = self.tls_ports.as_ref()?;
        let url = |(node, port): (&NodeAddress, &u16)| {
            // The password of a lab consists of letters and digits, and its nodes have no users.
            let password = node.credentials().map_or("", |(_, password)| password);
            format!("rediss://:{password}@{HOST}:{port}")
        };
        Some(self.nodes.iter().zip(ports).map(url).collect())
    }
}

/// Why an acquire was refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// One word, for counting.
    pub kind: &'static str,
    /// The whole message of the client.
    pub text: String,
    /// Why each node gave no vote, if the client says so.
    pub causes: Vec<&'static str>,
}

impl Refused {
    pub fn new(kind: &'static str, text: &(impl ToString + ?Sized)) -> Self {
        let text = text.to_string();
        Self {
            kind,
            text,
            causes: Vec::new(),
        }
    }
}

/// A lock client of one app server; clones share its connections.
pub(super) trait Client: Clone + Send + Sync + 'static {
    /// A lock that is held.
    type Held: Send + 'static;

    /// Connects as users of this client do, on the runtime of the app server.
    fn connect(setup: &Setup) -> impl Future<Output = Result<Self, String>> + Send;

    /// Acquires the lock on `key`.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Self::Held, Refused>> + Send;

    /// Releases the lock, and waits as long as this client does.
    fn release(&self, key: &str, held: Self::Held) -> impl Future<Output = ()> + Send;

    /// How many nodes have voted for a lock so far, if the client reports it.
    fn votes(_: &Self::Held) -> Option<usize> {
        None
    }

    /// Whether a held lock is lost, if the client reports it.
    fn is_lost(_: &Self::Held) -> bool {
        false
    }

    /// Returns a function that reads the number of attempts so far, from any thread; `None` if the client does not count
    /// them.
    fn attempts(&self) -> Option<Box<dyn Fn() -> u64 + Send + Sync>> {
        None
    }
}
