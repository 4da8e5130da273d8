//! What the naive and the plain client share: connecting, the two commands of a lock, and the pause between tries.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisResult, Script, Value};

use super::super::client::Setup;
use lockstorm_run::redis_client;

/// The longest pause of the naive and the plain client before they try again, in cases where they wait.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// Deletes the key if it still holds the token.
const DELETE: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// A client of the redis crate for each node, not yet connected.
pub(super) fn clients(setup: &Setup) -> Vec<RedisResult<Client>> {
    match setup.tls_urls() {
        Some(urls) => urls.into_iter().map(Client::open).collect(),
        None => setup.nodes.iter().map(redis_client).collect(),
    }
}

/// A connection with all defaults of the redis crate: 1 s to connect, 500 ms for a reply.
pub(super) async fn connect(client: RedisResult<Client>) -> RedisResult<MultiplexedConnection> {
    client?.get_multiplexed_async_connection().await
}

/// Connections to some nodes, and what the commands of a lock need.
pub(super) struct Connections {
    pub nodes: Vec<MultiplexedConnection>,
    script: Script,
    ttl: Duration,
    /// Whether an acquire tries again until it is granted.
    pub waits: bool,
}

impl Connections {
    pub fn new(nodes: Vec<MultiplexedConnection>, setup: &Setup) -> Arc<Self> {
        Arc::new(Self {
            nodes,
            script: Script::new(DELETE),
            ttl: setup.ttl,
            waits: setup.waits,
        })
    }

    /// `SET NX PX` on a node. Returns whether it gave its vote.
    pub async fn set(&self, node: &MultiplexedConnection, key: &str, token: &str) -> RedisResult<bool> {
        let mut command = redis::cmd("SET");
        command.arg(key).arg(token).arg("NX").arg("PX");
        command.arg(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX));
        let reply: Value = command.query_async(&mut node.clone()).await?;
        Ok(reply == Value::Okay)
    }

    /// Compare-and-delete by `EVALSHA` on a node.
    pub async fn delete(&self, node: &MultiplexedConnection, key: &str, token: &str) -> RedisResult<u64> {
        self.script.key(key).arg(token).invoke_async(&mut node.clone()).await
    }
}

pub(super) fn token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// The pause before the next try: uniform from 0 to [`POLL`].
pub(super) async fn pause() {
    let most = rand::rng().random_range(Duration::ZERO..POLL);
    tokio::time::sleep(most).await;
}
