//! A lock on one node, over one multiplexed connection: the baseline for Redlock when nothing fails.

use std::sync::Arc;

use super::super::client::{Client, Refused, Setup};
use super::redis_commands::{Connections, clients, connect, pause, token};

/// `SET NX PX` and compare-and-delete on the first node.
#[derive(Clone)]
pub(crate) struct Plain(Arc<Connections>);

impl Client for Plain {
    type Held = String;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let first = clients(setup).into_iter().next().ok_or("no node")?;
        let node = connect(first).await.map_err(|error| error.to_string())?;
        Ok(Self(Connections::new(vec![node], setup)))
    }

    async fn acquire(&self, key: &str) -> Result<String, Refused> {
        let one = &*self.0;
        loop {
            let token = token();
            match one.set(&one.nodes[0], key, &token).await {
                Ok(true) => return Ok(token),
                Ok(false) if one.waits => pause().await,
                Ok(false) => return Err(Refused::new("contended", "somebody else holds the lock")),
                Err(error) => return Err(Refused::new("error", &error)),
            }
        }
    }

    async fn release(&self, key: &str, token: String) {
        // If this fails, the key keeps its TTL, as with any client of one node.
        let _ = self.0.delete(&self.0.nodes[0], key, &token).await;
    }
}
