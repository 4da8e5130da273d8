use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::{
    FOREVER, command, connection,
    job::{Job, Purpose, Report},
    node::Node,
    round::{Answer, Round},
};
use crate::model::Cause;

/// How connections to nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The pause before the next attempt after a connection was refused or broke. 100 ms at most: a node that came
    /// back must be usable soon.
    pub reconnect_backoff: Duration,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
        }
    }
}

/// The connections of one app server to lock nodes. Cheap to clone; clones share the connections.
///
/// Each connection is owned by a task of the runtime in which it was made. The tasks end with the runtime, or when the
/// last clone, lock and guard that uses them is gone and nothing is left to delete.
#[derive(Clone)]
pub struct Nodes(Arc<[Arc<Handle>]>);

struct Handle(Arc<Node>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Nodes {
    /// Starts to connect to `addrs`, one task each, and does not wait: a node that is down is tried again and again.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn connect(addrs: &[SocketAddr], options: NodeOptions) -> Self {
        let options = NodeOptions {
            reconnect_backoff: options.reconnect_backoff.min(Duration::from_millis(100)),
            ..options
        };
        let start = |&addr| {
            let node = Arc::new(Node::new());
            tokio::spawn(connection::run(Arc::clone(&node), addr, options));
            Arc::new(Handle(node))
        };
        Self(addrs.iter().map(start).collect())
    }

    /// Waits until all nodes are connected, or for `within`; how many are connected then.
    pub async fn ready(&self, within: Duration) -> usize {
        let until = Instant::now() + within.min(FOREVER);
        let mut links: Vec<_> = self.0.iter().map(|handle| handle.0.watch()).collect();
        for link in &mut links {
            // Too late or never: it is not among those counted below.
            let _ = timeout_at(until, link.wait_for(|up| *up)).await;
        }
        links.iter().filter(|link| *link.borrow()).count()
    }

    /// Waits until the nodes have run everything that was queued before, releases in the background included, or for
    /// `within`; how many have. For the end of an app server that is not killed.
    pub async fn flush(&self, within: Duration) -> usize {
        let within = within.min(FOREVER);
        let round = Arc::new(Round::new(self.len()));
        // Connections are ordered: an answer to anything says that all before it ran.
        let command = command::pttl("");
        for index in 0..self.len() {
            let purpose = Purpose::Question(Report {
                round: Arc::clone(&round),
                index,
            });
            self.push(
                index,
                Job {
                    command: Arc::clone(&command),
                    timeout: within,
                    purpose,
                },
            );
        }
        let answers = round.wait(Instant::now() + within, |_| false).await;
        answers
            .iter()
            .flatten()
            .filter(|answer| matches!(answer, Answer::Int(_)))
            .count()
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

    /// Queues a command for node `index`; never waits.
    pub(super) fn push(&self, index: usize, job: Job) {
        self.0[index].0.push(job);
    }

    /// Why a command for node `index` was never written.
    pub(super) fn unasked(&self, index: usize) -> Cause {
        self.0[index].0.unasked()
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
