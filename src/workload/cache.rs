use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client};

use crate::lab::redis_client;
use crate::lock::NodeAddress;

/// The longest that connecting to the cache node may take.
pub const CACHE_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest that a reply of the cache node is waited for. It outlasts the stop of an app server, whose clock runs on: a
/// reply that lies in the socket by then is not an error of the cache node.
pub const CACHE_REPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// The cache node failed.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It answered with an error, too late, or not at all.
    #[error("the cache node: {0}")]
    Redis(#[from] redis::RedisError),
    /// A product's stock key is not there.
    #[error("the cache node has no stock of product {0}")]
    NoStock(u64),
    /// An order of the ledger that it keeps can't be read.
    #[error("the cache node's ledger has {0:?}, which is not an order")]
    NoOrder(String),
}

/// One arm's part of the cache node: a Redis database of its own, so that keys of the arms are alike and don't meet. One
/// connection, shared by the workers of an app server. It does not reconnect: no fault of a run hits the cache node.
#[derive(Debug, Clone)]
pub struct Cache(MultiplexedConnection);

/// Connects to the cache node at `addr`, to the database of the arm at this position. The connection belongs to the
/// runtime that this runs on.
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
    // Small commands that wait for each other's acknowledgement would be measured as 40 ms of lock.
    let tcp = TcpSettings::default().set_nodelay(true);
    let client = Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp))?;
    Ok(Cache(
        client.get_multiplexed_async_connection_with_config(&config).await?,
    ))
}

impl Cache {
    /// The connection, to send a command on.
    pub(super) fn connection(&self) -> MultiplexedConnection {
        self.0.clone()
    }
}

/// A time as the servers take it: whole milliseconds, 1 at least.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
