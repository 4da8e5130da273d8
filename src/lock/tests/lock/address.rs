//! A node's address changes, on real servers.

use std::time::Duration;

use crate::kit::trio::{BRIEF, IMPATIENT, KEY, NODE_TIMEOUT, OPTIONS, keys_of};
use crate::kit::turn::Turn;
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, in_time, until};
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeAddress, NodeOptions, Nodes, NotExtended, Outcome, Refusal};
use redis::cmd;
use tokio::sync::watch;
use tokio::time::sleep;

/// Longer than any test.
const NEVER: Duration = TEST_TIMEOUT.saturating_mul(100);

/// Two servers, and an app server with one node that is at one of them.
struct Pair {
    servers: Vec<RedisServer>,
    address: watch::Sender<NodeAddress>,
    nodes: Nodes,
    lock: Lock,
    _turn: Turn,
}

impl Pair {
    async fn start() -> Self {
        let patient = NodeOptions::new().node_timeout(NODE_TIMEOUT);
        let pair = Self::connecting(patient, |_| {});
        assert_eq!(pair.nodes.ready(TEST_TIMEOUT).await, 1);
        pair
    }

    /// Calls `prepare` with the first server before anything connects to it.
    fn connecting(options: NodeOptions, prepare: impl FnOnce(&RedisServer)) -> Self {
        let turn = beside();
        let servers: Vec<_> = (0..2).map(|_| RedisServer::start()).collect();
        prepare(&servers[0]);
        let address = watch::Sender::new(servers[0].addr().into());
        let nodes = Nodes::follow(vec![address.subscribe()], options);
        Self {
            lock: Lock::redlock(&nodes, 1),
            servers,
            address,
            nodes,
            _turn: turn,
        }
    }

    /// The node is now at this server.
    fn move_to(&self, server: usize) {
        self.address.send_replace(self.servers[server].addr().into());
    }

    /// Acquires another lock until its key is on this server.
    async fn reaches(&self, server: usize) {
        until("the node is reached there", async || {
            let Ok(guard) = self.lock.acquire("probe", &IMPATIENT).await else {
                return false;
            };
            let found = self.servers[server].query(cmd("EXISTS").arg("probe"));
            guard.release().await;
            found
        })
        .await;
        assert_eq!(self.nodes.flush(TEST_TIMEOUT).await, 1);
    }

    async fn acquire(&self, options: &AcquireOptions) -> Result<Guard, Refusal> {
        self.lock.acquire(KEY, options).await
    }

    fn keys(&self) -> Vec<usize> {
        keys_of(&self.servers)
    }
}

#[tokio::test]
async fn locks_are_kept_where_the_node_is_and_those_from_before_are_lost_when_they_are_extended() {
    let pair = Pair::start().await;
    let held = pair.acquire(&OPTIONS).await.unwrap();
    let renewing = OPTIONS.renew_every(Duration::from_millis(20));
    let renewed = pair.lock.acquire("renewed", &renewing).await.unwrap();
    assert_eq!(pair.keys(), [2, 0]);
    pair.move_to(1);
    in_time("the renewal finds no key", renewed.lost()).await;
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
}

#[tokio::test]
async fn an_equal_address_breaks_no_connection_and_other_credentials_do() {
    let pair = Pair::start().await;
    let server = &pair.servers[0];
    let connection = || {
        let clients: String = server.query(cmd("CLIENT").arg("LIST"));
        // The oldest comes first; the last one asks this.
        clients.split_whitespace().next().map(str::to_owned)
    };
    server.add_user("+@all ~* &*");
    let before = connection();
    for _ in 0..3 {
        pair.move_to(0);
        pair.reaches(0).await;
    }
    assert_eq!(connection(), before);
    let url = format!("redis://locks:secret@{}", server.addr());
    pair.address.send_replace(NodeAddress::parse(&url).unwrap());
    until("it connects as the other user", async || {
        let clients: String = server.query(cmd("CLIENT").arg("LIST"));
        clients.contains("user=locks")
    })
    .await;
    pair.reaches(0).await;
    assert_ne!(connection(), before);
}

#[tokio::test]
async fn an_address_whose_sender_is_gone_stays() {
    let mut pair = Pair::start().await;
    pair.move_to(1);
    pair.address = watch::Sender::new(pair.servers[0].addr().into());
    pair.reaches(1).await;
    pair.servers[1].kill();
    pair.servers[1].restart();
    pair.reaches(1).await;
    assert_eq!(pair.keys(), [0, 0]);
}

/// Nothing ends by itself at an address where nobody answers.
const WAITS_FOR_EVER: NodeOptions = NodeOptions::new()
    .connect_timeout(NEVER)
    .reconnect_backoff(Duration::from_millis(50))
    .node_timeout(NEVER)
    .give_up(NEVER)
    .longest_key(8 << 10);

#[tokio::test]
async fn a_stopped_server_is_left_at_once_and_what_it_was_asked_is_not_known() {
    let pair = Pair::connecting(WAITS_FOR_EVER, |_| {});
    pair.reaches(0).await;
    pair.servers[0].pause();
    let sent = || pair.lock.gauges().sent(0).sets;
    let before = sent();
    let asked = tokio::spawn({
        let lock = pair.lock.clone();
        async move {
            let endless = OPTIONS.timeout(NEVER);
            lock.acquire(KEY, &endless).await.map(drop)
        }
    });
    while sent() == before {
        sleep(Duration::from_millis(1)).await;
    }
    pair.move_to(1);
    let refused = in_time("it is told", asked).await.unwrap();
    assert_eq!(refused.unwrap_err().outcome(), Outcome::Unknown);
    pair.reaches(1).await;
    pair.acquire(&OPTIONS).await.unwrap().release().await;
    assert_eq!(pair.nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(pair.servers[1].keys(), 0);
    pair.servers[0].resume();
}

#[tokio::test]
async fn an_attempt_to_connect_to_a_stopped_server_is_left_at_once() {
    let pair = Pair::connecting(WAITS_FOR_EVER, RedisServer::pause);
    assert!(pair.acquire(&IMPATIENT.timeout(BRIEF)).await.is_err());
    pair.move_to(1);
    pair.reaches(1).await;
    assert_eq!(pair.servers[1].keys(), 0);
    pair.servers[0].resume();
}
