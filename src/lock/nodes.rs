#[cfg(test)]
use std::net::SocketAddr;
use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout_at};

use super::{
    BadAddress, FOREVER,
    address::NodeAddress,
    connection,
    job::{Job, Question, Report},
    node::Node,
    round::{Answer, Round},
    wire::{self, Packed},
};
use crate::model::Cause;

/// The pause before a node that could not be asked is asked again whether it has run everything.
const FLUSH_AGAIN: Duration = Duration::from_millis(5);

/// How connections to nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The pause before the next attempt after a connection was refused or broke. 100 ms at most: a node that came
    /// back must be usable soon.
    pub reconnect_backoff: Duration,
    /// A peer that is not heard of for so long although something was sent to it is given up: its connection breaks
    /// (`TCP_USER_TIMEOUT` and keepalive, on Linux; elsewhere keepalive alone). This is about networks that swallow
    /// packets. A node that is merely stopped is heard of, since its kernel answers, until its buffers are full.
    pub give_up: Duration,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            give_up: Duration::from_secs(30),
        }
    }
}

/// The connections of one app server to lock nodes. Cheap to clone; clones share the connections.
///
/// Each connection is owned by a task of the runtime in which it was made. The tasks end with the runtime, or when the
/// last clone, lock and guard that uses them is gone and nothing is left to delete.
#[derive(Clone)]
pub struct Nodes(Arc<[Arc<Handle>]>);

struct Handle {
    node: Arc<Node>,
    address: NodeAddress,
    options: NodeOptions,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.node.abandon();
    }
}

impl Nodes {
    /// Starts to connect to `addrs`, one task each, and does not wait: a node that is down is tried again and again.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn connect<A: Clone + Into<NodeAddress>>(addrs: &[A], options: NodeOptions) -> Self {
        Self::start(addrs.iter().cloned().map(Into::into), options)
    }

    /// The same for addresses like `redis://user:password@host:6379/0`, or `rediss://` for TLS (see [there](super#tls)).
    /// Names are looked up at each attempt to connect; the authorities that TLS trusts are read here, from files.
    ///
    /// # Errors
    /// If one is no such address, or wants TLS and there are no authorities to trust.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open<U: AsRef<str>>(urls: &[U], options: NodeOptions) -> Result<Self, BadAddress> {
        let addresses: Result<Vec<_>, _> = urls.iter().map(|url| NodeAddress::parse(url.as_ref())).collect();
        Ok(Self::start(addresses?, options))
    }

    fn start(addresses: impl IntoIterator<Item = NodeAddress>, options: NodeOptions) -> Self {
        let options = NodeOptions {
            reconnect_backoff: options.reconnect_backoff.min(Duration::from_millis(100)),
            ..options
        };
        let start = |address: NodeAddress| {
            let node = Arc::new(Node::new());
            tokio::spawn(connection::run(Arc::clone(&node), address.clone(), options));
            Arc::new(Handle { node, address, options })
        };
        Self(addresses.into_iter().map(start).collect())
    }

    #[cfg(test)]
    pub(super) fn unconnected(nodes: &[Arc<Node>]) -> Self {
        let handle = |node: &Arc<Node>| Handle {
            node: Arc::clone(node),
            address: NodeAddress::from(SocketAddr::from(([127, 0, 0, 1], 0))),
            options: NodeOptions::default(),
        };
        Self(nodes.iter().map(|node| Arc::new(handle(node))).collect())
    }

    /// Waits until all nodes are connected, or for `within`; how many are connected then.
    pub async fn ready(&self, within: Duration) -> usize {
        let until = Instant::now() + within.min(FOREVER);
        let mut links: Vec<_> = self.0.iter().map(|handle| handle.node.watch()).collect();
        for link in &mut links {
            // Too late or never: it is not among those counted below.
            let _ = timeout_at(until, link.wait_for(|up| *up)).await;
        }
        links.iter().filter(|link| *link.borrow()).count()
    }

    /// Waits until the nodes have run everything that was queued before, releases in the background included, or for
    /// `within`; how many have. A node that is stopped or down is waited for. What a node refuses to run now (while it
    /// loads its data, say) is tried again later and not waited for. For the end of an app server that is not killed.
    pub async fn flush(&self, within: Duration) -> usize {
        let until = Instant::now() + within.min(FOREVER);
        // Connections are ordered: an answer to anything says that all before it ran. The second time this includes
        // what had to be sent again, with its script spelled out.
        for _ in 0..2 {
            let mut left: Vec<usize> = (0..self.len()).collect();
            while !left.is_empty() {
                let timeout = until.saturating_duration_since(Instant::now());
                let answers = self.question(&left, &wire::pttl(""), timeout, until, |_| false).await;
                let mut answers = answers.into_iter();
                left.retain(|_| !matches!(answers.next(), Some(Some(Answer::Int(_)))));
                if Instant::now() >= until {
                    return self.len() - left.len();
                }
                if !left.is_empty() {
                    sleep(FLUSH_AGAIN).await;
                }
            }
        }
        self.len()
    }

    /// The nodes at these positions, counted from 0, over the same connections.
    ///
    /// # Panics
    /// If there is no node at one of them.
    #[must_use]
    pub fn subset(&self, indexes: &[usize]) -> Self {
        Self(indexes.iter().map(|&index| Arc::clone(&self.0[index])).collect())
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks the nodes at these positions the same, and waits for their answers until there are enough, or until then.
    /// `timeout`: how long a node may owe the reply before it is suspect.
    pub(super) async fn question(
        &self,
        indexes: &[usize],
        command: &Packed,
        timeout: Duration,
        until: Instant,
        enough: impl Fn(&[Option<Answer>]) -> bool,
    ) -> Vec<Option<Answer>> {
        let round = Arc::new(Round::new(indexes.len()));
        for (place, &index) in indexes.iter().enumerate() {
            let question = Question {
                command: Arc::clone(command),
                timeout,
                report: Some(Report {
                    round: Arc::clone(&round),
                    index: place,
                }),
            };
            self.push(index, Job::Ask(question));
        }
        round.wait(until, enough).await
    }

    /// Sends a command to all nodes that can be asked now; nobody waits for the answers. `timeout` as above.
    pub(super) fn tell(&self, command: &Packed, timeout: Duration) {
        for index in 0..self.len() {
            let question = Question {
                command: Arc::clone(command),
                timeout,
                report: None,
            };
            self.push(index, Job::Ask(question));
        }
    }

    /// Where node `index` is, and how to connect to it.
    pub(super) fn address(&self, index: usize) -> (&NodeAddress, NodeOptions) {
        let handle = &self.0[index];
        (&handle.address, handle.options)
    }

    /// Queues a command for node `index`; never waits.
    pub(super) fn push(&self, index: usize, job: Job) {
        self.0[index].node.push(job);
    }

    /// Why a command for node `index` was never written.
    pub(super) fn unasked(&self, index: usize) -> Cause {
        self.0[index].node.unasked()
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
