//! Mistakes that others make: one server under two names, keys that are too long, passwords in the wrong place. Real servers.

use std::net::SocketAddr;
use std::time::Duration;

use crate::kit::intermediary::relay;
use crate::kit::moving;
use crate::kit::trio::{IMPATIENT, KEY, NODE_TIMEOUT, OPTIONS, PERSISTENT};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, until};
use lockstorm_lock::{Guard, Lock, NodeAddress, NodeOptions, Nodes, Refusal, Session, SessionError};
use redis::cmd;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

const PATIENT: NodeOptions = moving::PATIENT.connect_timeout(TEST_TIMEOUT).longest_key(4 << 20);

async fn connected(nodes: Nodes) -> (Lock, Nodes) {
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, nodes.len());
    (Lock::redlock(&nodes, 1), nodes)
}

/// Acquires the lock, and waits until all nodes have answered.
async fn complete(lock: &Lock) -> Result<(Guard, usize), Refusal> {
    let guard = lock.acquire(KEY, &OPTIONS).await?;
    let votes = guard.late_votes().wait().await;
    Ok((guard, votes))
}

/// Acquires and releases it until it gets so many votes.
async fn until_votes(lock: &Lock, expected: usize) {
    until(&format!("{expected} votes"), async || {
        let Ok((guard, votes)) = complete(lock).await else {
            return false;
        };
        guard.release().await;
        votes == expected
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_in_the_list_twice_has_one_vote() {
    let _turn = beside();
    // It also listens at another address of this machine.
    let listens = ["--bind", "127.0.0.1", "127.0.0.2", "--protected-mode", "no"];
    for again in ["localhost", "127.0.0.2"] {
        let (mut a, mut b) = (RedisServer::start_with(&listens), RedisServer::start());
        let urls = [
            format!("redis://127.0.0.1:{}", a.port()),
            // The database of another number does not make it another server.
            format!("redis://{again}:{}/1", a.port()),
            format!("redis://127.0.0.1:{}", b.port()),
        ];
        let (lock, _nodes) = connected(Nodes::open(&urls, PATIENT).unwrap()).await;
        let (guard, votes) = complete(&lock).await.unwrap();
        assert_eq!(votes, 2, "{again}");
        guard.release().await;
        // After a restart it is another server, and still one.
        a.kill();
        a.restart();
        until_votes(&lock, 2).await;
        b.kill();
        let refusal = loop {
            match complete(&lock).await {
                Err(refusal @ Refusal::NoQuorum { .. }) => break refusal.to_string(),
                // It was asked before the connection broke.
                Err(Refusal::Unknown { .. }) => {}
                other => panic!("{again}: a lock with the votes of one server: {other:?}"),
            }
        };
        assert!(refusal.contains("is the same server as node"), "{refusal}");
    }
}

#[tokio::test]
async fn a_node_that_moves_to_a_server_of_its_own_votes_again() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let at = |index: usize| NodeAddress::from(servers[index].addr());
    let (senders, places): (Vec<_>, Vec<_>) = [0, 0, 1].map(|index| watch::channel(at(index))).into_iter().unzip();
    let (lock, _nodes) = connected(Nodes::follow(places, PATIENT)).await;
    until_votes(&lock, 2).await;
    senders[1].send(at(2)).unwrap();
    until_votes(&lock, 3).await;
    senders[0].send(at(2)).unwrap();
    until_votes(&lock, 2).await;
}

#[tokio::test]
async fn a_server_that_may_not_say_who_it_is_votes_as_often_as_it_is_named() {
    let _turn = beside();
    let server = RedisServer::start();
    server.add_user("~* &* +@all -info");
    let url = |host: &str| format!("redis://locks:secret@{host}:{}", server.port());
    let urls = [url("127.0.0.1"), url("localhost") + "/1"];
    let (lock, _nodes) = connected(Nodes::open(&urls, PATIENT).unwrap()).await;
    until_votes(&lock, 2).await;
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused_before_anything_is_sent() {
    let _turn = beside();
    let server = RedisServer::start();
    let options = NodeOptions::new().node_timeout(NODE_TIMEOUT);
    let (lock, _nodes) = connected(Nodes::connect(&[server.addr()], options)).await;
    let (longest, longer) = ("k".repeat(8192), "k".repeat(8193));
    let refused = Refusal::KeyTooLong {
        length: 8193,
        most: 8192,
    };
    assert_eq!(lock.acquire(&longer, &OPTIONS).await.unwrap_err(), refused);
    assert_eq!(lock.try_acquire(&longer, &OPTIONS).await.unwrap_err(), refused);
    assert_eq!(lock.gauges().attempts(), 0);
    lock.acquire(&longest, &OPTIONS).await.unwrap().release().await;
    assert_eq!(server.calls("set"), 1);
}

/// Acquires other locks until it has gone well for a while.
async fn until_others_are_well(lock: &Lock, times: usize) {
    let start = Instant::now();
    let mut well = 0;
    while well < times {
        match lock.acquire("other", &IMPATIENT).await {
            Ok(guard) => {
                guard.release().await;
                well += 1;
            }
            Err(_) => well = 0,
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "others never get their locks");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_key_beyond_the_servers_limit_does_not_take_the_locks_of_others_with_it() {
    let _turn = beside();
    let server = RedisServer::start_with(&["--proto-max-bulk-len", "1mb"]);
    let (lock, _nodes) = connected(Nodes::connect(&[server.addr()], PATIENT)).await;
    let options = OPTIONS.timeout(Duration::from_secs(5));
    let refusal = lock.acquire(&"k".repeat(2 << 20), &options).await.unwrap_err();
    println!("{refusal}");
    until_others_are_well(&lock, 50).await;
}

/// Something before a server that closes each connection on which a delete of a key comes that contains `poison`.
fn closing(server: SocketAddr) -> SocketAddr {
    relay(server, |_, bytes| {
        let text = String::from_utf8_lossy(bytes);
        let deletes = ["EVAL", "DELIFEQ", "DELEX"]
            .iter()
            .any(|command| text.contains(command));
        !(deletes && text.contains("poison"))
    })
}

#[tokio::test]
async fn a_delete_that_two_connections_have_died_on_is_given_up() {
    let _turn = beside();
    let server = RedisServer::start();
    let before = closing(server.addr());
    let (lock, nodes) = connected(Nodes::connect(&[before], PATIENT)).await;
    let guard = lock.acquire("poison", &OPTIONS).await.unwrap();
    let released = guard.release().await;
    assert_eq!(released.unconfirmed, 1);
    until_others_are_well(&lock, 50).await;
    assert_eq!(lock.gauges().given_up(), 1);
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(server.query::<Vec<String>>(cmd("KEYS").arg("*")), ["poison"]);
}

#[tokio::test]
async fn no_delete_is_given_up_because_of_a_node_that_is_killed_or_cut_again_and_again() {
    let _turn = beside();
    // What it has voted for outlasts its death.
    let mut server = RedisServer::start_with(&PERSISTENT);
    let (lock, nodes) = connected(Nodes::connect(&[server.addr()], PATIENT)).await;
    for round in 0..20 {
        let mut held = Vec::new();
        for name in 0..20 {
            held.push(lock.acquire(&format!("{round}:{name}"), &OPTIONS).await.unwrap());
        }
        drop(held);
        // The deletes are written, and owed when the connection breaks.
        tokio::task::yield_now().await;
        match round % 2 {
            0 => server.cut(),
            _ => {
                server.kill();
                server.restart();
            }
        }
        until_others_are_well(&lock, 1).await;
    }
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!((lock.gauges().given_up(), server.keys()), (0, 0));
}

#[tokio::test]
async fn a_server_that_repeats_what_it_does_not_know_reveals_no_password() {
    let _turn = beside();
    let server = RedisServer::start_with(&["--rename-command", "AUTH", "XAUTH"]);
    let url = format!("redis://me:s3cret@{}", server.addr());
    let address = NodeAddress::parse(&url).unwrap();
    let Err(SessionError::Denied(said)) = Session::open(&address, &PATIENT).await else {
        panic!("it was let in");
    };
    let nodes = Nodes::open(&[&url], PATIENT).unwrap();
    let lock = Lock::redlock(&nodes, 1);
    until("it is denied", async || {
        matches!(lock.acquire(KEY, &OPTIONS).await, Err(Refusal::NotPermitted { .. }))
    })
    .await;
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    for text in [said, refusal.to_string(), format!("{refusal:?}")] {
        assert!(text.contains("AUTH") && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn no_url_that_can_not_be_read_reveals_its_password() {
    for url in [
        "redis://s3cret@host:x",
        "redis://s3cret:@host:x",
        "redis://me:s3cret@host:x",
        "unix:///run/redis.sock?db=x&pass=s3cret",
        "redis+unix:///run/redis.sock?pass=s3cret&db=1x",
        "unix:///run/redis.sock?pass=a@s3cret#",
        "redis://host:x?password=s3cret",
    ] {
        let error = NodeAddress::parse(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
}
