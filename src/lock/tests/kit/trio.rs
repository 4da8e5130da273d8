//! Three lock nodes, and an app server that is connected to them.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lockstorm_lock::{AcquireOptions, Cause, Guard, Lock, NodeOptions, Nodes, Refusal, Wait};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use super::server::RedisServer;
use super::turn::{Turn, alone, beside};
use super::waiting::{TEST_TIMEOUT, runtime, until};

pub const KEY: &str = "sku:7";

/// How long nodes may take; long enough for any slow machine.
pub const NODE_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for nodes that will not reply.
pub const BRIEF: Duration = Duration::from_millis(200);

/// How long nodes may take before they are suspect, for tests that wait for that.
pub const SOON: Duration = Duration::from_secs(1);

/// Long enough for any slow machine.
pub const OPTIONS: AcquireOptions = AcquireOptions::new()
    .ttl(TEST_TIMEOUT.saturating_mul(2))
    .wait(Wait::FailFast)
    .timeout(TEST_TIMEOUT)
    .repair(false);

/// Of this TTL in milliseconds, and otherwise as [`OPTIONS`].
pub const fn lasting(ttl: u64) -> AcquireOptions {
    OPTIONS.ttl(Duration::from_millis(ttl))
}

/// For nodes that will not reply.
pub const IMPATIENT: AcquireOptions = OPTIONS.reply_timeout(BRIEF);

pub const QUEUE: AcquireOptions = OPTIONS.wait(Wait::Queue);

pub const RENEWED: AcquireOptions = OPTIONS.renew_every(Duration::from_millis(50));

pub const RETRY: Wait = Wait::Retry {
    retries: u32::MAX,
    delay: Duration::from_millis(1),
    jitter: Duration::from_millis(4),
};

/// Options of servers that lose nothing by a kill.
pub const PERSISTENT: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

pub fn no_quorum<const N: usize>(causes: [Option<Cause>; N]) -> Refusal {
    let causes = causes.into();
    Refusal::NoQuorum { causes }
}

pub fn unknown<const N: usize>(causes: [Option<Cause>; N]) -> Refusal {
    let causes = causes.into();
    Refusal::Unknown { causes }
}

/// Three servers, and an app server that is connected to them, with a lock of theirs.
pub struct Trio {
    pub nodes: Nodes,
    pub lock: Lock,
    pub servers: Vec<RedisServer>,
    _turn: Turn,
}

impl Trio {
    pub async fn start() -> Self {
        Self::of(beside(), &[], NODE_TIMEOUT).await
    }

    /// For what is measured.
    pub async fn alone() -> Self {
        Self::of(alone(), &[], NODE_TIMEOUT).await
    }

    pub async fn with(options: &[&str]) -> Self {
        Self::of(beside(), options, NODE_TIMEOUT).await
    }

    /// With nodes that may take this long for a reply before they are suspect.
    pub async fn with_node_timeout(node_timeout: Duration) -> Self {
        Self::of(beside(), &[], node_timeout).await
    }

    async fn of(turn: Turn, options: &[&str], node_timeout: Duration) -> Self {
        let servers: Vec<_> = (0..3).map(|_| RedisServer::start_with(options)).collect();
        let nodes = connect(&addrs_of(&servers), node_timeout).await;
        Self {
            lock: Lock::redlock(&nodes, 1),
            nodes,
            servers,
            _turn: turn,
        }
    }

    pub async fn acquire(&self, options: &AcquireOptions) -> Result<Guard, Refusal> {
        self.lock.acquire(KEY, options).await
    }

    /// A lock with all three votes.
    pub async fn acquire_all(&self, options: &AcquireOptions) -> Guard {
        let guard = self.acquire(options).await.unwrap();
        until("all three voted", async || guard.votes() == 3).await;
        guard
    }

    /// Kills a node, and waits until the app server knows.
    pub async fn kill(&mut self, index: usize) {
        self.servers[index].kill();
        let node = self.nodes.subset(&[index]);
        until("the connection is broken", async || {
            node.ready(Duration::ZERO).await == 0
        })
        .await;
    }

    pub fn pause(&self, nodes: &[usize]) {
        for &node in nodes {
            self.servers[node].pause();
        }
    }

    pub fn resume(&self, nodes: &[usize]) {
        for &node in nodes {
            self.servers[node].resume();
        }
    }

    /// Lets all nodes run, and waits until no key is left.
    pub async fn recovers(&self) {
        self.servers.iter().for_each(RedisServer::resume);
        self.no_keys().await;
    }

    /// The number of keys of each server.
    pub fn keys(&self) -> Vec<usize> {
        keys_of(&self.servers)
    }

    /// Waits until all nodes have done what they were sent.
    pub async fn flushed(&self) {
        assert_eq!(self.nodes.flush(TEST_TIMEOUT).await, 3);
    }

    /// The same after a node did not answer, which is not waited for while it is suspect.
    pub async fn caught_up(&self) {
        until("all have run it", async || self.nodes.flush(TEST_TIMEOUT).await == 3).await;
    }

    /// Waits until no node has a key, and makes sure that no command under way brings one back.
    pub async fn no_keys(&self) {
        // Connections are ordered: when a node answers this, it has done everything from before.
        until("all nodes vote again", async || {
            let Ok(guard) = self.lock.acquire("probe", &IMPATIENT).await else {
                return false;
            };
            let start = Instant::now();
            while guard.votes() < 3 && start.elapsed() < BRIEF {
                sleep(Duration::from_millis(1)).await;
            }
            let votes = guard.votes();
            guard.release().await;
            votes == 3
        })
        .await;
        until("no key is left", async || self.keys() == [0, 0, 0]).await;
    }
}

/// Nodes that are connected to these servers.
async fn connect(addrs: &[SocketAddr], node_timeout: Duration) -> Nodes {
    let options = NodeOptions::new().node_timeout(node_timeout);
    let nodes = Nodes::connect(addrs, options);
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, addrs.len());
    nodes
}

/// An app server's runtime, connected to all of these servers.
pub fn app_server(servers: &[RedisServer]) -> (Runtime, Nodes) {
    let runtime = runtime();
    let nodes = runtime.block_on(connect(&addrs_of(servers), NODE_TIMEOUT));
    (runtime, nodes)
}

/// Another app server on these nodes, with a thread of its own, which does this.
pub fn elsewhere<T, W>(servers: &[RedisServer], work: W) -> JoinHandle<T>
where
    T: Send + 'static,
    W: AsyncFnOnce(Nodes) -> T + Send + 'static,
{
    let addrs = addrs_of(servers);
    thread::spawn(move || {
        runtime().block_on(async {
            let nodes = connect(&addrs, NODE_TIMEOUT).await;
            work(nodes).await
        })
    })
}

pub fn addrs_of(servers: &[RedisServer]) -> Vec<SocketAddr> {
    servers.iter().map(RedisServer::addr).collect()
}

/// The number of keys of each server.
pub fn keys_of(servers: &[RedisServer]) -> Vec<usize> {
    servers.iter().map(RedisServer::keys).collect()
}
