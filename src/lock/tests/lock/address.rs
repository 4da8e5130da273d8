//! A node's address changes, on real servers.

use std::time::Duration;

use crate::kit::trio::{IMPATIENT, KEY, NODE_TIMEOUT, OPTIONS, keys_of};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside};
use lockstorm_lock::Outcome;
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeAddress, NodeOptions, Nodes, NotExtended, Refusal};
use redis::cmd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Longer than any test.
const NEVER: Duration = Duration::from_hours(1);

/// Two servers, and an app server with one node that is at one of them.
struct Pair {
    servers: Vec<RedisServer>,
    address: watch::Sender<NodeAddress>,
    runtime: Runtime,
    nodes: Nodes,
    lock: Lock,
}

impl Pair {
    fn start() -> Self {
        let patient = NodeOptions {
            node_timeout: NODE_TIMEOUT,
            ..NodeOptions::default()
        };
        let pair = Self::connecting(patient, |_| {});
        assert_eq!(pair.runtime.block_on(pair.nodes.ready(TEST_TIMEOUT)), 1);
        pair
    }

    /// Calls `prepare` with the first server before anything connects to it.
    fn connecting(options: NodeOptions, prepare: impl FnOnce(&RedisServer)) -> Self {
        let servers: Vec<_> = (0..2).map(|_| RedisServer::start()).collect();
        prepare(&servers[0]);
        let address = watch::Sender::new(servers[0].addr().into());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let nodes = runtime.block_on(async { Nodes::follow(vec![address.subscribe()], options) });
        Self {
            lock: Lock::redlock(&nodes, 1),
            servers,
            address,
            runtime,
            nodes,
        }
    }

    /// The node is now at this server.
    fn move_to(&self, server: usize) {
        self.address.send_replace(self.servers[server].addr().into());
    }

    /// Acquires another lock until its key is on this server.
    async fn reaches(&self, server: usize) {
        let reached = async {
            loop {
                if let Ok(guard) = self.lock.acquire("probe", &IMPATIENT).await {
                    let found: bool = self.servers[server].query(cmd("EXISTS").arg("probe"));
                    guard.release().await;
                    if found {
                        return;
                    }
                }
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(TEST_TIMEOUT, reached).await.expect("the node is reached there");
        assert_eq!(self.nodes.flush(TEST_TIMEOUT).await, 1);
    }

    async fn acquire(&self, options: &AcquireOptions) -> Result<Guard, Refusal> {
        self.lock.acquire(KEY, options).await
    }

    fn keys(&self) -> Vec<usize> {
        keys_of(&self.servers)
    }
}

#[test]
fn locks_are_kept_where_the_node_is_and_those_from_before_are_lost_when_they_are_extended() {
    let _turn = beside();
    let pair = Pair::start();
    pair.runtime.block_on(async {
        let held = pair.acquire(&OPTIONS).await.unwrap();
        let renewing = AcquireOptions {
            renew: Some(Duration::from_millis(20)),
            ..OPTIONS
        };
        let renewed = pair.lock.acquire("renewed", &renewing).await.unwrap();
        assert_eq!(pair.keys(), [2, 0]);
        pair.move_to(1);
        timeout(TEST_TIMEOUT, renewed.lost())
            .await
            .expect("the renewal finds no key");
        pair.reaches(1).await;
        assert_eq!((held.extend().await, held.is_lost()), (Err(NotExtended::Lost), true));
        // An extension, and what was lost, leaves nothing at the new address.
        assert_eq!(pair.keys(), [2, 0]);
        let next = pair.acquire(&OPTIONS).await.unwrap();
        assert_eq!(pair.keys(), [2, 1]);
        assert!(next.extend().await.is_ok());
        // The releases of those from before do not touch it.
        held.release().await;
        renewed.release().await;
        assert_eq!(pair.nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!((next.is_lost(), pair.keys()), (false, vec![2, 1]));
        assert_eq!(next.release().await.deleted, 1);
        assert_eq!(pair.keys(), [2, 0]);
        pair.move_to(0);
        pair.reaches(0).await;
        assert_eq!(pair.acquire(&OPTIONS).await.unwrap_err(), Refusal::Contended);
    });
}

#[test]
fn an_equal_address_breaks_no_connection_and_other_credentials_do() {
    let _turn = beside();
    let pair = Pair::start();
    let server = &pair.servers[0];
    let connection = || {
        let clients: String = server.query(cmd("CLIENT").arg("LIST"));
        // The oldest comes first; the last one asks this.
        clients.split_whitespace().next().map(str::to_owned)
    };
    server.query::<()>(cmd("ACL").arg(&["SETUSER", "locks", "on", ">secret", "+@all", "~*", "&*"]));
    let before = connection();
    pair.runtime.block_on(async {
        for _ in 0..3 {
            pair.move_to(0);
            pair.reaches(0).await;
        }
    });
    assert_eq!(connection(), before);
    let url = format!("redis://locks:secret@{}", server.addr());
    pair.address.send_replace(NodeAddress::parse(&url).unwrap());
    pair.runtime.block_on(async {
        let who = |clients: String| clients.contains("user=locks");
        let until = async {
            while !who(server.query(cmd("CLIENT").arg("LIST"))) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(TEST_TIMEOUT, until)
            .await
            .expect("it connects as the other user");
        pair.reaches(0).await;
    });
    assert_ne!(connection(), before);
}

#[test]
fn an_address_whose_sender_is_gone_stays() {
    let _turn = beside();
    let mut pair = Pair::start();
    pair.move_to(1);
    pair.address = watch::Sender::new(pair.servers[0].addr().into());
    pair.runtime.block_on(pair.reaches(1));
    pair.servers[1].kill();
    pair.servers[1].restart();
    pair.runtime.block_on(pair.reaches(1));
    assert_eq!(pair.keys(), [0, 0]);
}

/// Nothing ends by itself at an address where nobody answers.
const WAITS_FOR_EVER: NodeOptions = NodeOptions {
    connect_timeout: NEVER,
    reconnect_backoff: Duration::from_millis(50),
    node_timeout: NEVER,
    give_up: NEVER,
    wait_replicas: None,
    longest_key: 8 << 10,
};

#[test]
fn a_stopped_server_is_left_at_once_and_what_it_was_asked_is_not_known() {
    let _turn = beside();
    let pair = Pair::connecting(WAITS_FOR_EVER, |_| {});
    pair.runtime.block_on(async {
        pair.reaches(0).await;
        pair.servers[0].pause();
        let sent = || pair.lock.gauges().sent(0).sets;
        let before = sent();
        let asked = tokio::spawn({
            let lock = pair.lock.clone();
            async move {
                lock.acquire(
                    KEY,
                    &AcquireOptions {
                        timeout: NEVER,
                        ..OPTIONS
                    },
                )
                .await
                .map(drop)
            }
        });
        while sent() == before {
            sleep(Duration::from_millis(1)).await;
        }
        pair.move_to(1);
        let refused = timeout(TEST_TIMEOUT, asked).await.expect("it is told").unwrap();
        assert_eq!(refused.unwrap_err().outcome(), Outcome::Unknown);
        pair.reaches(1).await;
        pair.acquire(&OPTIONS).await.unwrap().release().await;
        assert_eq!(pair.nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(pair.servers[1].keys(), 0);
    });
    pair.servers[0].resume();
}

#[test]
fn an_attempt_to_connect_to_a_stopped_server_is_left_at_once() {
    let _turn = beside();
    let pair = Pair::connecting(WAITS_FOR_EVER, RedisServer::pause);
    pair.runtime.block_on(async {
        assert!(pair.acquire(&IMPATIENT).await.is_err());
        pair.move_to(1);
        pair.reaches(1).await;
    });
    assert_eq!(pair.servers[1].keys(), 0);
    pair.servers[0].resume();
}
