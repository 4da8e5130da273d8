//! A lock on one node, over one multiplexed connection: the baseline for Redlock when nothing fails.

use std::sync::Arc;
use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;

use super::super::client::{Client, Refused, Setup};
use super::redis_commands::{DELETE, clients, connect, delete, pause, set, token};

/// `SET NX PX` and compare-and-delete on the first node.
#[derive(Clone)]
pub(crate) struct Plain(Arc<Inner>);

struct Inner {
    node: MultiplexedConnection,
    script: Script,
    ttl: Duration,
    waits: bool,
}

impl Client for Plain {
    type Held = String;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let first = clients(setup).into_iter().next().ok_or("no node")?;
        let node = connect(first).await.map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(Inner {
            node,
            script: Script::new(DELETE),
            ttl: setup.ttl,
            waits: setup.waits,
        })))
    }

    async fn acquire(&self, key: &str) -> Result<String, Refused> {
        let inner = &*self.0;
        loop {
            let token = token();
            match set(inner.node.clone(), key, &token, inner.ttl).await {
                Ok(true) => return Ok(token),
                Ok(false) if inner.waits => pause().await,
                Ok(false) => {
                    return Err(Refused {
                        kind: "contended",
                        text: "somebody else holds the lock".to_owned(),
                    });
                }
                Err(error) => {
                    return Err(Refused {
                        kind: "error",
                        text: error.to_string(),
                    });
                }
            }
        }
    }

    async fn release(&self, key: &str, token: String) {
        let inner = &*self.0;
        // If this fails, the key keeps its TTL, as with any client of one node.
        let _ = delete(inner.node.clone(), &inner.script, key, &token).await;
    }
}
