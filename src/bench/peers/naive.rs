//! The quickest way to write Redlock: `join_all` over the redis crate's multiplexed connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::Script;
use redis::aio::MultiplexedConnection;

use super::super::client::{Client, Refused, Setup};
use super::redis_commands::{DELETE, clients, connect, delete, pause, set, token};

/// Asks all nodes at once and waits for all of them. It never reconnects and does not check the time.
#[derive(Clone)]
pub(crate) struct Naive(Arc<Inner>);

struct Inner {
    /// The nodes that could be reached at the start.
    nodes: Vec<MultiplexedConnection>,
    quorum: usize,
    script: Script,
    ttl: Duration,
    waits: bool,
}

impl Client for Naive {
    type Held = String;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let connections = join_all(clients(setup).into_iter().map(connect)).await;
        Ok(Self(Arc::new(Inner {
            nodes: connections.into_iter().filter_map(Result::ok).collect(),
            quorum: setup.nodes.len() / 2 + 1,
            script: Script::new(DELETE),
            ttl: setup.ttl,
            waits: setup.waits,
        })))
    }

    async fn acquire(&self, key: &str) -> Result<String, Refused> {
        let inner = &*self.0;
        loop {
            let token = token();
            let votes = join_all(inner.nodes.iter().map(|node| set(node.clone(), key, &token, inner.ttl))).await;
            if votes.iter().filter(|vote| matches!(vote, Ok(true))).count() >= inner.quorum {
                return Ok(token);
            }
            self.release(key, token).await;
            if !inner.waits {
                return Err(Refused {
                    kind: "refused",
                    text: "no quorum of votes".to_owned(),
                });
            }
            pause().await;
        }
    }

    async fn release(&self, key: &str, token: String) {
        let Inner { nodes, script, .. } = &*self.0;
        // This client does not track its deletes, so the answers don't matter.
        join_all(nodes.iter().map(|node| delete(node.clone(), script, key, &token))).await;
    }
}
