//! What the lock engine needs of servers and their users: scripts, native commands, passwords, permissions.

use std::time::Duration;

use crate::kit::listener::Listener;
use crate::kit::trio::{KEY, OPTIONS, Trio, keys_of};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually};
use lockstorm_lock::{AcquireOptions, Lock, NodeOptions, Nodes, Redlock, Refusal};
use lockstorm_lock::{Cause, Outcome, Wait};
use redis::cmd;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Adds a user `locks` with the password `secret` and these rules.
fn add_user(server: &RedisServer, rules: &[&str]) {
    let mut command = cmd("ACL");
    command
        .arg("SETUSER")
        .arg("locks")
        .arg(&["on", ">secret", "resetchannels"])
        .arg(rules);
    server.query::<String>(&command);
}

fn open(servers: &[RedisServer], who: &str) -> Nodes {
    let urls: Vec<_> = servers
        .iter()
        .map(|server| format!("redis://{who}@{}", server.addr()))
        .collect();
    let options = NodeOptions {
        node_timeout: Duration::from_secs(5),
        ..NodeOptions::default()
    };
    Nodes::open(&urls, options).unwrap()
}

#[test]
fn scripts_are_loaded_once_and_again_when_a_node_forgot_them() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    for round in 0..3 {
        if round == 1 {
            for server in &trio.servers {
                server.query::<()>(cmd("SCRIPT").arg("FLUSH"));
            }
        }
        let guard = trio.acquire(&lock, &OPTIONS).unwrap();
        assert!(trio.runtime.block_on(guard.extend()).is_ok());
        let released = trio.runtime.block_on(guard.release());
        assert!(released.deleted >= 2, "{released:?}");
        // On a busy machine one node may still have all of this to do when the next round begins.
        assert_eq!(trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT)), 3);
    }
    trio.no_keys();
    for server in &trio.servers {
        // Once for the extension, and once for the delete after the flush.
        assert!(server.calls("eval") <= 2);
        assert!(server.calls("evalsha") + server.calls("delifeq") + server.calls("delex") >= 4);
    }
}

#[test]
#[ignore = "needs Valkey 9 or Redis 8.4: LOCKSTORM_TEST_SERVER=/path/to/valkey-server"]
fn a_node_that_compares_and_deletes_by_itself_is_asked_to() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    for _ in 0..10 {
        let guard = trio.acquire(&lock, &OPTIONS).unwrap();
        trio.runtime.block_on(guard.release());
    }
    trio.no_keys();
    for server in &trio.servers {
        assert!(server.calls("delifeq") + server.calls("delex") >= 10);
        assert_eq!(server.calls("evalsha"), 0);
    }
    // Native commands can't publish, so a release that others may wait for uses the script.
    let waiting = AcquireOptions {
        wait: Wait::Queue,
        ..OPTIONS
    };
    let guard = trio.acquire(&lock, &waiting).unwrap();
    trio.runtime.block_on(guard.release());
    trio.no_keys();
    assert!(trio.servers.iter().all(|server| server.calls("evalsha") >= 1));
}

#[test]
fn a_user_with_the_documented_permissions_can_lock() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    for server in &servers {
        let rules = "~* &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish \
                     +subscribe +unsubscribe +ping";
        add_user(server, &rules.split_whitespace().collect::<Vec<_>>());
    }
    runtime().block_on(async {
        let nodes = open(&servers, "locks:secret");
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
        let redlock = Redlock::builder(nodes)
            .ttl(Duration::from_mins(1))
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
    });
}

#[test]
fn a_missing_permission_and_an_outage_give_different_causes() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    for server in &servers {
        add_user(server, &["~other:*", "+set", "+get", "+eval", "+evalsha"]);
    }
    runtime().block_on(async {
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
    });
    assert_eq!(keys_of(&servers), [0, 0, 0]);
}

#[test]
fn a_lifetime_ends_a_lock_that_is_renewed() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let options = AcquireOptions {
        renew: Some(Duration::from_millis(20)),
        lifetime: Some(Duration::from_millis(300)),
        ..OPTIONS
    };
    let guard = trio.acquire(&lock, &options).unwrap();
    assert!(guard.validity() <= Duration::from_millis(300));
    trio.runtime.block_on(guard.lost());
    assert!(guard.is_lost());
    assert!(trio.runtime.block_on(guard.extend()).is_err());
    trio.runtime.block_on(guard.release());
    trio.no_keys();
}

#[test]
fn a_minority_that_forgot_is_repaired_only_if_asked_for() {
    let _turn = beside();
    for repair in [false, true] {
        let mut trio = Trio::start();
        let lock = trio.redlock();
        let options = AcquireOptions {
            renew: Some(Duration::from_millis(50)),
            repair,
            ..OPTIONS
        };
        let guard = trio.acquire(&lock, &options).unwrap();
        trio.until("all votes", async || guard.votes() == 3);
        trio.kill(2);
        trio.servers[2].restart();
        trio.until("the loss is noticed", async || guard.votes() == 2);
        assert_eq!(guard.margin(), 0);
        if repair {
            trio.until("the vote is back", async || guard.votes() == 3);
            assert_eq!((guard.margin(), keys_of(&trio.servers)), (1, vec![1, 1, 1]));
        } else {
            trio.runtime.block_on(async { sleep(Duration::from_millis(500)).await });
            assert_eq!((guard.votes(), keys_of(&trio.servers)), (2, vec![1, 1, 0]));
        }
        assert!(!guard.is_lost());
        trio.runtime.block_on(guard.release());
        trio.no_keys();
    }
}

#[test]
fn a_release_is_announced_and_a_rollback_is_not() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let waiting = AcquireOptions {
        wait: Wait::Queue,
        timeout: Duration::from_millis(1),
        ..OPTIONS
    };
    let listener = Listener::start(&trio.servers[0]);
    let holder = trio.acquire(&lock, &OPTIONS).unwrap();
    // After a split vote it is rolled back: this one has one vote.
    trio.servers[0].query::<()>(cmd("DEL").arg(KEY));
    assert!(trio.acquire(&lock, &waiting).is_err());
    trio.runtime.block_on(holder.release());
    trio.no_keys();
    assert_eq!(listener.released(), Vec::<String>::new());
    let guard = trio
        .acquire(
            &lock,
            &AcquireOptions {
                timeout: TEST_TIMEOUT,
                ..waiting
            },
        )
        .unwrap();
    let token = guard.token().to_owned();
    trio.runtime.block_on(guard.release());
    trio.no_keys();
    eventually("the node reported it", || !listener.released().is_empty());
    assert_eq!(listener.released(), [token]);
}
