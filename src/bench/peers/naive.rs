//! The quickest way to write Redlock: `join_all` over the redis crate's multiplexed connections.

use std::sync::Arc;

use futures_util::future::join_all;

use super::super::client::{Client, Refused, Setup};
use super::redis_commands::{Connections, clients, connect, pause, token};

/// Asks all nodes at once and waits for all of them. It never reconnects and does not check the time.
#[derive(Clone)]
pub(crate) struct Naive {
    /// To the nodes that could be reached at the start.
    connections: Arc<Connections>,
    quorum: usize,
}

impl Client for Naive {
    type Held = String;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let nodes = join_all(clients(setup).into_iter().map(connect)).await;
        Ok(Self {
            connections: Connections::new(nodes.into_iter().filter_map(Result::ok).collect(), setup),
            quorum: setup.nodes.len() / 2 + 1,
        })
    }

    async fn acquire(&self, key: &str) -> Result<String, Refused> {
        let all = &*self.connections;
        loop {
            let token = token();
            let votes = join_all(all.nodes.iter().map(|node| all.set(node, key, &token))).await;
            if votes.iter().filter(|vote| matches!(vote, Ok(true))).count() >= self.quorum {
                return Ok(token);
            }
            self.release(key, token).await;
            if !all.waits {
                return Err(Refused::new("refused", "no quorum of votes"));
            }
            pause().await;
        }
    }

    async fn release(&self, key: &str, token: String) {
        let all = &*self.connections;
        // This client does not track its deletes, so the answers don't matter.
        join_all(all.nodes.iter().map(|node| all.delete(node, key, &token))).await;
    }
}
