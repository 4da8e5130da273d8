//! Three lock nodes, and an app server that is connected to them.

use std::time::Duration;

use lockstorm_lock::Wait;
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeOptions, Nodes, Refusal};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};

use super::{RedisServer, TEST_TIMEOUT};

pub const KEY: &str = "sku:7";

/// How long nodes may take; long enough for any slow machine.
pub const NODE_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for nodes that will not reply.
pub const BRIEF: Duration = Duration::from_millis(200);

/// Long enough for any slow machine.
pub const OPTIONS: AcquireOptions = AcquireOptions {
    ttl: Duration::from_mins(1),
    renew: None,
    wait: Wait::FailFast,
    timeout: TEST_TIMEOUT,
    reply_timeout: None,
    lifetime: None,
    repair: false,
};

/// For nodes that will not reply.
pub const IMPATIENT: AcquireOptions = AcquireOptions {
    reply_timeout: Some(BRIEF),
    ..OPTIONS
};

pub const RETRY: Wait = Wait::Retry {
    retries: u32::MAX,
    delay: Duration::from_millis(1),
    jitter: Duration::from_millis(4),
};

/// Three servers, and the runtime of one app server that is connected to them.
pub struct Trio {
    pub runtime: Runtime,
    pub nodes: Nodes,
    pub servers: Vec<RedisServer>,
}

impl Trio {
    pub fn start() -> Self {
        Self::with(&[])
    }

    pub fn with(options: &[&str]) -> Self {
        Self::of((0..3).map(|_| RedisServer::start_with(options)).collect(), NODE_TIMEOUT)
    }

    /// With nodes that may take this long for a reply before they are suspect.
    pub fn with_node_timeout(node_timeout: Duration) -> Self {
        Self::of((0..3).map(|_| RedisServer::start_with(&[])).collect(), node_timeout)
    }

    fn of(servers: Vec<RedisServer>, node_timeout: Duration) -> Self {
        let (runtime, nodes) = app_server_with(&servers, node_timeout);
        Self {
            runtime,
            nodes,
            servers,
        }
    }

    pub fn redlock(&self) -> Lock {
        Lock::redlock(&self.nodes, 1)
    }

    pub fn acquire(&self, lock: &Lock, options: &AcquireOptions) -> Result<Guard, Refusal> {
        self.runtime.block_on(lock.acquire(KEY, options))
    }

    /// Kills a node, and waits until the app server knows.
    pub fn kill(&mut self, index: usize) {
        self.servers[index].kill();
        let node = self.nodes.subset(&[index]);
        self.until("the connection is broken", || node_is_down(&node));
    }

    /// Runs the runtime until `condition` holds.
    pub fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        self.runtime.block_on(async {
            let start = Instant::now();
            while !condition().await {
                assert!(start.elapsed() < TEST_TIMEOUT, "not within {TEST_TIMEOUT:?}: {what}");
                sleep(Duration::from_millis(2)).await;
            }
        });
    }

    /// Waits until no node has a key, and makes sure that no command under way brings one back.
    pub fn no_keys(&self) {
        let lock = self.redlock();
        // Connections are ordered: when a node answers this, it has done everything from before.
        self.until("all nodes vote again", async || {
            let Ok(guard) = lock.acquire("probe", &IMPATIENT).await else {
                return false;
            };
            let start = Instant::now();
            while guard.votes() < 3 && start.elapsed() < BRIEF {
                sleep(Duration::from_millis(1)).await;
            }
            let votes = guard.votes();
            guard.release().await;
            votes == 3
        });
        self.until("no key is left", async || {
            self.servers.iter().all(|server| server.keys() == 0)
        });
    }
}

async fn node_is_down(node: &Nodes) -> bool {
    node.ready(Duration::ZERO).await == 0
}

/// An app server's runtime, connected to all of these servers.
pub fn app_server(servers: &[RedisServer]) -> (Runtime, Nodes) {
    app_server_with(servers, NODE_TIMEOUT)
}

fn app_server_with(servers: &[RedisServer], node_timeout: Duration) -> (Runtime, Nodes) {
    let options = NodeOptions {
        node_timeout,
        ..NodeOptions::default()
    };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let addrs: Vec<_> = servers.iter().map(RedisServer::addr).collect();
    let nodes = runtime.block_on(async {
        let nodes = Nodes::connect(&addrs, options);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, addrs.len());
        nodes
    });
    (runtime, nodes)
}

/// The number of keys of each server.
pub fn keys_of(servers: &[RedisServer]) -> Vec<usize> {
    servers.iter().map(RedisServer::keys).collect()
}
