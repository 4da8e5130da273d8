//! The crate `rslock`.

use std::time::Duration;

use redis::{IntoConnectionInfo, RedisResult};
use rslock::{Lock, LockError, LockManager};

use super::super::client::{Client, Refused, Setup};
use lockstorm_run::connection_info;

/// The crate's default number of tries in one `lock()`.
pub(crate) const TRIES: u32 = 3;

/// The crate's default: the pause between two tries is uniform from 0 to this. With 64 tasks on one key, a shorter pause
/// (25 to 100 ms) shortens the longest waits by up to a third, but costs up to three times the processor time of client
/// and servers.
pub(crate) const DELAY: Duration = Duration::from_millis(200);

/// A lock manager over all nodes. It connects when it is first used.
#[derive(Clone)]
pub(crate) struct Rslock {
    manager: LockManager,
    ttl: Duration,
}

impl Client for Rslock {
    type Held = Lock;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let addresses: RedisResult<Vec<_>> = match setup.tls_urls() {
            Some(urls) => urls.into_iter().map(IntoConnectionInfo::into_connection_info).collect(),
            None => setup.nodes.iter().map(connection_info).collect(),
        };
        let mut manager = LockManager::new(addresses.map_err(|error| error.to_string())?);
        if setup.waits {
            manager.set_retry(u32::MAX, DELAY);
        } else {
            manager.set_retry(TRIES, DELAY);
        }
        Ok(Self {
            manager,
            ttl: setup.ttl,
        })
    }

    async fn acquire(&self, key: &str) -> Result<Lock, Refused> {
        self.manager.lock(key, self.ttl).await.map_err(|error| {
            let kind = match error {
                LockError::Unavailable => "unavailable",
                LockError::TtlExceeded => "ttl_exceeded",
                _ => "error",
            };
            Refused::new(kind, &error)
        })
    }

    async fn release(&self, _: &str, lock: Lock) {
        lock.release().await;
    }
}
