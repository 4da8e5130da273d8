//! What the lock engine needs of servers and their users: scripts, native commands, passwords, permissions.

use std::time::Duration;

use crate::kit::listener::Listener;
use crate::kit::moving::PATIENT;
use crate::kit::trio::{KEY, OPTIONS, QUEUE, RENEWED, Trio, keys_of};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, until};
use lockstorm_lock::{AcquireOptions, Cause, Lock, Nodes, Outcome, Redlock, Refusal};
use redis::cmd;
use tokio::time::sleep;

/// Three servers with the user `locks`, who has these permissions.
fn servers_with(rules: &str) -> Vec<RedisServer> {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    for server in &servers {
        server.add_user(rules);
    }
    servers
}

fn open(servers: &[RedisServer], who: &str) -> Nodes {
    let url = |server: &RedisServer| format!("redis://{who}@{}", server.addr());
    Nodes::open(&servers.iter().map(url).collect::<Vec<_>>(), PATIENT).unwrap()
}

#[tokio::test]
async fn scripts_are_loaded_once_and_again_when_a_node_forgot_them() {
    let trio = Trio::start().await;
    for round in 0..3 {
        if round == 1 {
            for server in &trio.servers {
                server.query::<()>(cmd("SCRIPT").arg("FLUSH"));
            }
        }
        let guard = trio.acquire(&OPTIONS).await.unwrap();
        assert!(guard.extend().await.is_ok());
        let released = guard.release().await;
        assert!(released.deleted >= 2, "{released:?}");
        // On a busy machine one node may still have all of this to do when the next round begins.
        trio.flushed().await;
    }
    trio.no_keys().await;
    for server in &trio.servers {
        // Once for the extension, and once for the delete after the flush.
        assert!(server.calls("eval") <= 2);
        assert!(server.calls("evalsha") + server.calls("delifeq") + server.calls("delex") >= 4);
    }
}

#[tokio::test]
#[ignore = "needs Valkey 9 or Redis 8.4: LOCKSTORM_TEST_SERVER=/path/to/valkey-server"]
async fn a_node_that_compares_and_deletes_by_itself_is_asked_to() {
    let trio = Trio::start().await;
    for _ in 0..10 {
        trio.acquire(&OPTIONS).await.unwrap().release().await;
    }
    trio.no_keys().await;
    for server in &trio.servers {
        assert!(server.calls("delifeq") + server.calls("delex") >= 10);
        assert_eq!(server.calls("evalsha"), 0);
    }
    // Native commands can't publish, so a release that others may wait for uses the script.
    trio.acquire(&QUEUE).await.unwrap().release().await;
    trio.no_keys().await;
    assert!(trio.servers.iter().all(|server| server.calls("evalsha") >= 1));
}

#[tokio::test]
async fn a_user_with_the_documented_permissions_can_lock() {
    let _turn = beside();
    let servers = servers_with(
        "resetchannels ~* &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish \
         +subscribe +unsubscribe +ping",
    );
    let nodes = open(&servers, "locks:secret");
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
    let redlock = Redlock::builder(nodes)
        .ttl(OPTIONS.ttl)
        .wait_up_to(TEST_TIMEOUT)
        .seed(1)
        .build()
        .unwrap();
    let guard = redlock.acquire(KEY).await.unwrap();
    assert_eq!(redlock.try_acquire(KEY).await.unwrap_err(), Refusal::Contended);
    assert!(guard.extend().await.is_ok());
    assert!(guard.release().await.deleted >= 2);
    let guard = redlock.acquire(KEY).await.unwrap();
    assert_eq!((guard.attempts(), guard.waited()), (1, false));
    drop(guard);
}

#[tokio::test]
async fn a_missing_permission_and_an_outage_give_different_causes() {
    let _turn = beside();
    let servers = servers_with("resetchannels ~other:* +set +get +eval +evalsha");
    for who in ["locks:secret", "locks:wrong"] {
        let nodes = open(&servers, who);
        let lock = Lock::redlock(&nodes, 1);
        loop {
            let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
            assert_eq!(refusal.outcome(), Outcome::NoQuorum);
            if let Refusal::NotPermitted { causes } = refusal {
                let denied = |cause: &&Option<Cause>| matches!(cause, Some(Cause::NoPermission(_)));
                assert!(causes.iter().filter(denied).count() >= 2, "{causes:?}");
                break;
            }
            // With a wrong password, it is not known before the first greeting that the nodes deny it.
            sleep(Duration::from_millis(5)).await;
        }
    }
    assert_eq!(keys_of(&servers), [0, 0, 0]);
}

#[tokio::test]
async fn a_lifetime_ends_a_lock_that_is_renewed() {
    let trio = Trio::start().await;
    let options = AcquireOptions {
        renew: Some(Duration::from_millis(20)),
        lifetime: Some(Duration::from_millis(300)),
        ..OPTIONS
    };
    let guard = trio.acquire(&options).await.unwrap();
    assert!(guard.validity() <= Duration::from_millis(300));
    guard.lost().await;
    assert!(guard.is_lost());
    assert!(guard.extend().await.is_err());
    guard.release().await;
    trio.no_keys().await;
}

#[tokio::test]
async fn a_minority_that_forgot_is_repaired_only_if_asked_for() {
    for repair in [false, true] {
        let mut trio = Trio::start().await;
        let guard = trio.acquire_all(&AcquireOptions { repair, ..RENEWED }).await;
        trio.kill(2).await;
        trio.servers[2].restart();
        until("the loss is noticed", async || guard.votes() == 2).await;
        assert_eq!(guard.margin(), 0);
        if repair {
            until("the vote is back", async || guard.votes() == 3).await;
            assert_eq!((guard.margin(), trio.keys()), (1, vec![1, 1, 1]));
        } else {
            sleep(Duration::from_millis(500)).await;
            assert_eq!((guard.votes(), trio.keys()), (2, vec![1, 1, 0]));
        }
        assert!(!guard.is_lost());
        guard.release().await;
        trio.no_keys().await;
    }
}

#[tokio::test]
async fn a_release_is_announced_and_a_rollback_is_not() {
    let trio = Trio::start().await;
    let waiting = AcquireOptions {
        timeout: Duration::from_millis(1),
        ..QUEUE
    };
    let listener = Listener::start(&trio.servers[0]);
    let holder = trio.acquire(&OPTIONS).await.unwrap();
    // After a split vote it is rolled back: this one has one vote.
    trio.servers[0].forget(KEY);
    assert!(trio.acquire(&waiting).await.is_err());
    holder.release().await;
    trio.no_keys().await;
    assert_eq!(listener.released(), Vec::<String>::new());
    let guard = trio.acquire(&QUEUE).await.unwrap();
    let token = guard.token().to_owned();
    guard.release().await;
    trio.no_keys().await;
    eventually("the node reported it", || !listener.released().is_empty());
    assert_eq!(listener.released(), [token]);
}
