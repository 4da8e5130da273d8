use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client};

use crate::redis_client::redis_client;
use lockstorm_lock::NodeAddress;

/// How long it may take to connect to the cache node.
const CACHE_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the cache node may take to reply. It is longer than any pause of an app server, whose timeouts run on
/// meanwhile: a reply that waits in the socket by then is not an error of the cache node.
pub const CACHE_REPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// The cache node failed.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It answered too late, not at all, or with an error.
    #[error("the cache node: {0}")]
    Redis(#[from] redis::RedisError),
    /// A product has no stock key.
    #[error("the cache node has no stock of product {0}")]
    NoStock(u64),
    /// An entry of the ledger in the cache node is not an order.
    #[error("the cache node's ledger has {0:?}, which is not an order")]
    NoOrder(String),
}

/// One arm's part of the cache node: a Redis database of its own, so that all arms can use the same keys. The workers of
/// an app server share one connection, which never reconnects: no fault of a run hits the cache node.
#[derive(Debug, Clone)]
pub struct Cache(MultiplexedConnection);

/// Connects to the cache node at `addr`, to the database of the arm at position `arm`. The connection belongs to the
/// current runtime.
///
/// # Errors
/// The node can't be reached, or has no such database.
pub async fn connect_cache(addr: impl Into<NodeAddress>, arm: usize) -> Result<Cache, CacheError> {
    let info = redis_client(&addr.into())?.get_connection_info().clone();
    let database = i64::try_from(arm).unwrap_or(i64::MAX);
    let settings = info.redis_settings().clone().set_db(database);
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CACHE_CONNECT_TIMEOUT))
        .set_response_timeout(Some(CACHE_REPLY_TIMEOUT));
    // Otherwise Nagle's algorithm would delay small commands by up to 40 ms, which would be measured as time of the lock.
    let tcp = TcpSettings::default().set_nodelay(true);
    let client = Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp))?;
    Ok(Cache(
        client.get_multiplexed_async_connection_with_config(&config).await?,
    ))
}

impl Cache {
    /// The connection, for sending commands.
    pub(super) fn connection(&self) -> MultiplexedConnection {
        self.0.clone()
    }
}

/// A time as servers take it: whole milliseconds, at least 1.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
