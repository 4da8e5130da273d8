//! The lock engine as a contender.

use std::time::Duration;

use super::client::{Client, Refused, Setup};
use lockstorm_data::model::{Outcome, Wait};
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeOptions, Nodes, Refusal};

/// How long connecting may take; after that the load begins without the missing nodes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest wait of an acquire.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// [`Lock::redlock`] over all nodes.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    lock: Lock,
    options: AcquireOptions,
}

/// The options of its acquires.
pub(super) fn options(setup: &Setup) -> AcquireOptions {
    let mut options = AcquireOptions::new().ttl(setup.ttl);
    options.renew = setup.renew;
    if setup.waits {
        options.wait(Wait::Queue).timeout(QUEUE_TIMEOUT)
    } else {
        options
    }
}

impl Client for Engine {
    type Held = Guard;

    async fn connect(setup: &Setup) -> Result<Self, String> {
        let nodes = match setup.tls_urls() {
            Some(urls) => Nodes::open(&urls, NodeOptions::default()).map_err(|error| error.to_string())?,
            None => Nodes::connect(&setup.nodes, NodeOptions::default()),
        };
        // A case may have nodes that are down; that is not an error.
        nodes.ready(CONNECT_TIMEOUT).await;
        Ok(Self {
            lock: Lock::redlock(&nodes, setup.seed),
            options: options(setup),
        })
    }

    async fn acquire(&self, key: &str) -> Result<Guard, Refused> {
        let acquired = self.lock.acquire(key, &self.options).await;
        acquired.map_err(|refusal| Refused {
            causes: refusal
                .causes()
                .iter()
                .flatten()
                .map(|cause| cause.kind().name())
                .collect(),
            ..Refused::new(kind(&refusal), &refusal)
        })
    }

    async fn release(&self, _: &str, guard: Guard) {
        guard.release().await;
    }

    fn votes(guard: &Guard) -> Option<usize> {
        Some(guard.votes())
    }

    fn is_lost(guard: &Guard) -> bool {
        guard.is_lost()
    }

    fn attempts(&self) -> Option<Box<dyn Fn() -> u64 + Send + Sync>> {
        let gauges = self.lock.gauges();
        Some(Box::new(move || gauges.attempts()))
    }
}

fn kind(refusal: &Refusal) -> &'static str {
    match refusal.outcome() {
        Outcome::Acquired => "acquired",
        Outcome::Contended => "contended",
        Outcome::NoQuorum => "no_quorum",
        Outcome::Expired => "expired",
        Outcome::Unknown => "unknown",
    }
}
