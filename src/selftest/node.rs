use std::net::SocketAddr;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use lockstorm_lock::NodeAddress;
use lockstorm_run::redis_client;

/// A lock node, over one connection, which is opened when it is needed and again after an error. No command is sent twice.
#[derive(Debug)]
pub(crate) struct Node {
    address: watch::Receiver<NodeAddress>,
    open: Mutex<Option<MultiplexedConnection>>,
}

impl Node {
    pub fn new(address: watch::Receiver<NodeAddress>) -> Self {
        let open = Mutex::default();
        Self { address, open }
    }

    /// Where it is; `None` if that is not an IP address.
    pub fn server(&self) -> Option<SocketAddr> {
        let address = self.address.borrow();
        Some(SocketAddr::new(address.host().parse().ok()?, address.port()))
    }

    /// Sends a command, and waits at most so long for its answer. The node may carry it out later.
    ///
    /// # Errors
    /// It can't be reached, did not answer in time, or refused.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd, limit: Duration) -> RedisResult<T> {
        let late = |_| RedisError::from((ErrorKind::Io, "no answer in time"));
        let mut connection = timeout(limit, self.connection()).await.map_err(late)??;
        let answer = timeout(limit, command.query_async(&mut connection))
            .await
            .map_err(late)?;
        if answer.as_ref().is_err_and(RedisError::is_unrecoverable_error) {
            *self.open.lock().await = None;
        }
        answer
    }

    async fn connection(&self) -> RedisResult<MultiplexedConnection> {
        let mut open = self.open.lock().await;
        if let Some(connection) = &*open {
            return Ok(connection.clone());
        }
        let client = redis_client(&self.address.borrow())?;
        // Whoever asks has a limit of its own.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        *open = Some(connection.clone());
        Ok(connection)
    }
}
