//! What the lock engine needs of servers and their users: scripts, native commands, passwords, permissions.

use std::thread;
use std::time::Duration;

use crate::kit::listener::Listener;
use crate::kit::moving::PATIENT;
use crate::kit::trio::{KEY, OPTIONS, QUEUE, RENEWED, Trio, keys_of};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, until};
use lockstorm_lock::{Cause, Lock, Nodes, Outcome, Redlock, Refusal};
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
        // At the start of the connection, once for the extension, and once for the delete after the flush.
        assert!(server.calls("eval") <= 3);
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

/// The rules of the user `locks` in the documentation, word for word.
fn documented() -> String {
    let text: String = include_str!("../../lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .collect();
    let (_, rules) = text.split_once("ACL SETUSER locks on >secret ~*").expect("the rules");
    let (rules, _) = rules.split_once("```").expect("their end");
    rules.to_owned()
}

/// How often servers refused a command because of a permission.
fn denials(servers: &[RedisServer]) -> Vec<u64> {
    let denials = |server: &RedisServer| {
        let stats: String = server.query(cmd("INFO").arg("errorstats"));
        let count = stats
            .lines()
            .find_map(|line| line.strip_prefix("errorstat_NOPERM:count="));
        count.map_or(0, |count| count.trim().parse().unwrap())
    };
    servers.iter().map(denials).collect()
}

#[tokio::test]
async fn with_the_documented_permissions_everything_works_in_any_database() {
    let _turn = beside();
    for keys in ["~*", "~locks:*"] {
        let servers = servers_with(&format!("{keys} {}", documented()));
        let app_server = || {
            let url = |server: &RedisServer| format!("redis://locks:secret@{}/3", server.addr());
            let nodes = Nodes::open(&servers.iter().map(url).collect::<Vec<_>>(), PATIENT).unwrap();
            let redlock = Redlock::builder(nodes.clone())
                .ttl(OPTIONS.ttl)
                .wait_up_to(TEST_TIMEOUT)
                .seed(1);
            (nodes, redlock.build().unwrap())
        };
        let ((nodes, redlock), (others, waits)) = (app_server(), app_server());
        assert_eq!(
            (nodes.ready(TEST_TIMEOUT).await, others.ready(TEST_TIMEOUT).await),
            (3, 3)
        );
        let guard = redlock.acquire("locks:a").await.unwrap();
        assert_eq!(waits.try_acquire("locks:a").await.unwrap_err(), Refusal::Contended);
        assert!(guard.extend().await.is_ok());
        let waiter = tokio::spawn(async move { waits.acquire("locks:a").await.unwrap().release().await });
        let subscribed = |server: &RedisServer| {
            let numbers: (String, usize) = server.query(cmd("PUBSUB").arg(&["NUMSUB", "lockstorm:released:locks:a"]));
            numbers.1 == 1
        };
        until("the other waits", async || servers.iter().all(subscribed)).await;
        assert!(guard.release().await.deleted >= 2);
        assert!(waiter.await.unwrap().deleted >= 2);
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
        assert_eq!(others.flush(TEST_TIMEOUT).await, 3);
        // The documented rules have to suit servers without these commands; each connection tries once.
        for (denied, server) in denials(&servers).into_iter().zip(&servers) {
            assert!(denied <= 2 * server.natives().len() as u64, "{keys}: {denied}");
        }
        let keyspace = |server: &RedisServer| server.query::<String>(cmd("INFO").arg("keyspace"));
        assert!(servers.iter().all(|server| !keyspace(server).contains("db")));
    }
}

#[tokio::test]
async fn a_node_whose_user_may_run_no_scripts_gives_no_vote_and_is_left_alone() {
    let _turn = beside();
    let servers = servers_with("~* &* +@all -eval -evalsha");
    for server in &servers {
        // Else they could release without a script.
        let natives = server.natives().into_iter().map(|native| format!("-{native}"));
        server.query::<()>(cmd("ACL").arg("SETUSER").arg("locks").arg(natives.collect::<Vec<_>>()));
    }
    let lock = Lock::redlock(&open(&servers, "locks:secret"), 1);
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{refusal}");
    assert!(servers.iter().all(|server| server.calls("set") == 0));
    // They may; then, while a lock is held, not any more.
    let rule = |rule: &str| {
        for server in &servers {
            server.query::<()>(cmd("ACL").arg(&["SETUSER", "locks", rule]));
        }
    };
    ["+eval", "+evalsha"].into_iter().for_each(rule);
    let mut guards = Vec::new();
    until("they vote", async || lock.acquire("probe", &OPTIONS).await.is_ok()).await;
    for key in 0..100 {
        guards.push(lock.acquire(&format!("key:{key}"), &OPTIONS).await.unwrap());
    }
    ["-eval", "-evalsha"].into_iter().for_each(rule);
    let before: u64 = denials(&servers).iter().sum();
    drop(guards);
    sleep(Duration::from_secs(1)).await;
    let refused = denials(&servers).iter().sum::<u64>() - before;
    println!("{refused} commands refused");
    // Each delete twice on each node, and a few attempts to connect.
    assert!(refused < 1000, "{refused}");
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{refusal}");
    ["+eval", "+evalsha"].into_iter().for_each(rule);
    until("nothing is left", async || keys_of(&servers) == [0, 0, 0]).await;
}

#[tokio::test]
async fn a_node_that_a_script_keeps_busy_is_not_ready() {
    let _turn = beside();
    let server = RedisServer::start_with(&["--lua-time-limit", "50"]);
    let mut busy = server.connection().unwrap();
    let endless = thread::spawn(move || {
        let _ = cmd("EVAL").arg("while true do end").arg(0).query::<()>(&mut busy);
    });
    let url = format!("redis://{}/1", server.addr());
    let lock = Lock::redlock(&Nodes::open(&[url], PATIENT).unwrap(), 1);
    until("it says that it is busy", async || {
        // The script may not have begun.
        let Err(refusal) = lock.acquire(KEY, &OPTIONS).await else {
            return false;
        };
        assert!(!matches!(refusal, Refusal::NotPermitted { .. }), "{refusal}");
        matches!(refusal.causes(), [Some(Cause::NotReady(text))] if text.starts_with("BUSY"))
    })
    .await;
    server.query::<()>(cmd("SCRIPT").arg("KILL"));
    endless.join().unwrap();
    until("it votes again", async || lock.acquire(KEY, &OPTIONS).await.is_ok()).await;
}

#[tokio::test]
async fn somebody_who_listens_to_all_channels_costs_next_to_nothing() {
    let trio = Trio::start().await;
    let _monitors: Vec<_> = trio.servers.iter().map(Listener::start).collect();
    let (keys, rounds) = (50, 20);
    for _ in 0..rounds {
        for key in 0..keys {
            trio.lock
                .acquire(&format!("key:{key}"), &QUEUE)
                .await
                .unwrap()
                .release()
                .await;
        }
    }
    trio.flushed().await;
    for server in &trio.servers {
        let (subscribed, published) = (server.calls("subscribe"), server.calls("publish"));
        println!(
            "{subscribed} subscriptions, {published} messages for {} releases",
            keys * rounds
        );
        assert!(subscribed <= 12, "{subscribed} subscriptions");
        assert!(published <= keys * rounds + 50, "{published} messages");
    }
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
    let options = OPTIONS
        .renew_every(Duration::from_millis(20))
        .lifetime(Duration::from_millis(300));
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
        let guard = trio.acquire_all(&RENEWED.repair(repair)).await;
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
    let waiting = QUEUE.timeout(Duration::from_millis(1));
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
