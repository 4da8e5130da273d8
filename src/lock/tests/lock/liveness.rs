//! What goes on, and how much is asked for, when runtimes end, nodes are down, and connections break. Real servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use crate::kit::intermediary::{Intermediary, relay};
use crate::kit::moving;
use crate::kit::trio::{BRIEF, IMPATIENT, KEY, OPTIONS, QUEUE, RENEWED, Trio, addrs_of, elsewhere};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, runtime, until};
use lockstorm_lock::{AcquireOptions, Cause, Guard, Lock, NodeOptions, Nodes, Refusal};
use redis::cmd;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;

const PATIENT: NodeOptions = moving::PATIENT.connect_timeout(TEST_TIMEOUT);

fn extensions(lock: &Lock) -> u64 {
    (0..3).map(|node| lock.gauges().sent(node).extends).sum()
}

#[test]
fn renewals_and_messages_go_on_when_the_runtime_that_used_the_lock_first_has_ended() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let app_server = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let nodes = app_server.block_on(async { Nodes::connect(&addrs_of(&servers), PATIENT) });
    let lock = Lock::redlock(&nodes, 1);
    // Held by an app server that has ended.
    let held = ["first", "second"].map(|key| {
        let hold = async move |nodes: Nodes| Lock::redlock(&nodes, 2).acquire(key, &OPTIONS).await.unwrap();
        elsewhere(&servers, hold).join().unwrap()
    });
    let first = runtime();
    // It renews, and waits in line, before anybody else does.
    let renewed = first.block_on(async {
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
        let renewed = lock.acquire("renewed first", &RENEWED).await.unwrap();
        let waiting = QUEUE.timeout(Duration::from_millis(100));
        assert_eq!(lock.acquire("first", &waiting).await.unwrap_err(), Refusal::Contended);
        renewed
    });
    let guard = app_server.block_on(lock.acquire(KEY, &RENEWED)).unwrap();
    drop((renewed, first));
    let before = extensions(&lock);
    eventually("the lock is renewed", || extensions(&lock) > before + 9);
    let waiter = lock.clone();
    let waiter = app_server.spawn(async move { waiter.acquire("second", &QUEUE).await });
    let subscribers = |server: &RedisServer| {
        let numbers: (String, usize) = server.query(cmd("PUBSUB").arg(&["NUMSUB", "lockstorm:released:second"]));
        numbers.1
    };
    eventually("the waiter is subscribed", || {
        servers.iter().all(|server| subscribers(server) == 1)
    });
    waiter.abort();
    assert!(!guard.is_lost());
    drop(held);
}

/// Renewed ten times in each TTL, by nodes that answer within a few milliseconds or never.
const OFTEN: AcquireOptions = OPTIONS
    .ttl(Duration::from_secs(2))
    .renew_every(Duration::from_millis(200))
    .reply_timeout(Duration::from_millis(2));

async fn acquire_often(trio: &Trio) -> Guard {
    loop {
        // With so little time, an attempt may fail.
        match trio.acquire(&OFTEN).await {
            Ok(guard) => return guard,
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test]
async fn a_lock_whose_quorum_is_down_is_not_extended_in_a_hot_loop() {
    let mut trio = Trio::start().await;
    let guard = acquire_often(&trio).await;
    until("it is renewed", async || trio.servers[0].calls("pexpire") > 0).await;
    trio.kill(1).await;
    trio.kill(2).await;
    let before = trio.servers[0].calls("pexpire");
    guard.lost().await;
    let after = trio.servers[0].calls("pexpire");
    println!("{} extensions while two nodes were down", after - before);
    assert!(after - before <= 3, "{before}, then {after}");
}

#[tokio::test]
async fn a_lock_whose_quorum_is_stopped_is_extended_less_and_less_often() {
    let trio = Trio::start().await;
    let guard = acquire_often(&trio).await;
    trio.pause(&[1, 2]);
    let before = trio.servers[0].calls("pexpire");
    guard.lost().await;
    let after = trio.servers[0].calls("pexpire");
    println!("{} extensions while two nodes were stopped", after - before);
    // By a constant pace of 4 ms it would be 400 and more.
    assert!(after - before <= 60, "{before}, then {after}");
    trio.recovers().await;
}

#[tokio::test]
async fn nothing_is_extended_that_the_lifetime_ends() {
    let trio = Trio::start().await;
    let options = OPTIONS
        .ttl(Duration::from_secs(1))
        .renew_every(Duration::from_millis(100))
        .lifetime(Duration::from_millis(1500));
    let guard = trio.acquire_all(&options.reply_timeout(Duration::from_millis(5))).await;
    guard.lost().await;
    let extensions = trio.servers[0].calls("pexpire");
    println!("{extensions} extensions");
    // Every tenth of a second until half a second is over; after a check that came too soon once more.
    assert!(extensions <= 20, "{extensions}");
}

/// What a server counts under this name.
fn counted(server: &RedisServer, section: &str, name: &str) -> u64 {
    let info: String = server.query(cmd("INFO").arg(section));
    let value = info.lines().find_map(|line| line.strip_prefix(name));
    let digits = |value: &str| value.chars().take_while(char::is_ascii_digit).collect::<String>();
    value.map_or(0, |value| digits(value).parse().expect("a number"))
}

#[tokio::test]
async fn connections_that_healthy_nodes_close_when_idle_are_made_again_before_anybody_is_refused() {
    let trio = Trio::start().await;
    for round in 0..10 {
        // As old as a connection must be to be made again at once.
        sleep(Duration::from_millis(60)).await;
        trio.servers.iter().for_each(RedisServer::cut);
        loop {
            match trio.acquire(&OPTIONS).await {
                Ok(guard) => {
                    guard.release().await;
                    break;
                }
                // It was written before anybody knew.
                Err(Refusal::Unknown { .. }) => {}
                Err(refusal) => panic!("round {round}: {refusal}"),
            }
        }
    }
    trio.no_keys().await;
}

/// Nodes, the first of which has a first connection that hangs while the flag is set, and this flag.
async fn hanging(servers: &[RedisServer], give_up: Duration) -> (Lock, Nodes, Arc<AtomicBool>) {
    let hangs = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&hangs);
    let mut addrs = addrs_of(servers);
    addrs[0] = relay(addrs[0], move |number, _| {
        while number == 0 && told.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        true
    });
    let nodes = Nodes::connect(&addrs, PATIENT.node_timeout(Duration::from_secs(1)).give_up(give_up));
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, servers.len());
    (Lock::redlock(&nodes, 1), nodes, hangs)
}

#[tokio::test]
async fn a_connection_that_hangs_is_replaced_and_what_it_brings_late_is_deleted() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let server = &servers[0];
    let (lock, nodes, hangs) = hanging(&servers, BRIEF).await;
    let early = until_votes(&lock, "early", &IMPATIENT, 3).await;
    hangs.store(true, SeqCst);
    let held = until_votes(&lock, "held", &RENEWED, 2).await;
    let again = until_votes(&lock, "again", &IMPATIENT, 3).await;
    let mut names = server.names();
    names.sort();
    assert_eq!(
        (held.votes(), names),
        (2, ["again", "early"].map(str::to_owned).to_vec())
    );
    // That the key is not there yet does not mean that it will not come.
    until("the renewal asked for it", async || server.calls("evalsha") > 0).await;
    for guard in [early, held, again] {
        guard.release().await;
    }
    nodes.flush(TEST_TIMEOUT).await;
    assert_eq!(server.keys(), 0);
    let set = || counted(server, "commandstats", "cmdstat_set:calls=");
    let before = set();
    hangs.store(false, SeqCst);
    until("the vote that was held up is given", async || set() > before).await;
    until("its key is deleted", async || server.keys() == 0).await;
    until("the old connection is closed", async || {
        counted(server, "clients", "connected_clients:") == 2
    })
    .await;
    until_votes(&lock, "again", &IMPATIENT, 3).await.release().await;
}

#[tokio::test]
async fn a_connection_that_answers_again_is_kept() {
    let _turn = beside();
    let server = RedisServer::start();
    let (lock, _nodes, hangs) = hanging(std::slice::from_ref(&server), TEST_TIMEOUT).await;
    let connections = || counted(&server, "stats", "total_connections_received:");
    hangs.store(true, SeqCst);
    lock.acquire("a", &IMPATIENT).await.unwrap_err();
    lock.acquire("b", &IMPATIENT).await.unwrap_err();
    let before = connections();
    hangs.store(false, SeqCst);
    until_votes(&lock, "b", &IMPATIENT, 1).await.release().await;
    // The one that counts.
    assert_eq!(connections(), before + 1);
}

async fn until_votes(lock: &Lock, key: &str, options: &AcquireOptions, votes: usize) -> Guard {
    loop {
        if let Ok(guard) = lock.acquire(key, options).await {
            if guard.votes() == votes {
                return guard;
            }
            guard.release().await;
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// A server behind a link that delays what it is sent.
fn far(server: SocketAddr, delay: Duration) -> SocketAddr {
    relay(server, move |_, _| {
        thread::sleep(delay);
        true
    })
}

#[tokio::test]
async fn the_first_acquire_waits_for_distant_nodes_as_long_as_the_options_say() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let addrs: Vec<_> = addrs_of(&servers)
        .into_iter()
        .map(|addr| far(addr, Duration::from_millis(45)))
        .collect();
    let lock = Lock::redlock(&Nodes::connect(&addrs, PATIENT), 1);
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    assert!(guard.release().await.deleted >= 2);
}

#[tokio::test]
async fn a_node_that_lets_nobody_in_is_tried_less_and_less_often() {
    let _turn = beside();
    let server = RedisServer::start();
    server.add_user("~* &* +@all");
    let url = |password: &str| format!("redis://locks:{password}@{}", server.addr());
    let nodes = Nodes::open(&[url("wrong")], PATIENT).unwrap();
    let before = counted(&server, "stats", "total_connections_received:");
    sleep(Duration::from_millis(1500)).await;
    let tries = counted(&server, "stats", "total_connections_received:") - before;
    println!("{tries} connections");
    assert!(tries <= 20, "{tries} connections in 1.5 s");
    // It is let in after all.
    server.query::<()>(cmd("ACL").arg(&["SETUSER", "locks", ">wrong"]));
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
}

#[tokio::test]
async fn guards_that_are_dropped_before_a_shutdown_leave_no_key() {
    let trio = Trio::start().await;
    let mut guards = Vec::new();
    for key in 0..200 {
        guards.push(trio.lock.acquire(&format!("key:{key}"), &OPTIONS).await.unwrap());
    }
    drop(guards);
    assert_eq!(trio.nodes.shutdown(TEST_TIMEOUT).await, 3);
    assert_eq!(trio.keys(), [0, 0, 0]);
    until("the connections have ended", async || {
        trio.nodes.ready(Duration::ZERO).await == 0
    })
    .await;
    let refusal = trio.acquire(&OPTIONS).await.unwrap_err();
    assert!(matches!(refusal, Refusal::NoQuorum { .. }), "{refusal}");
}

#[tokio::test]
async fn nothing_is_acquired_from_a_shutdown_on_and_under_load_no_key_stays() {
    let trio = Trio::start().await;
    // Somebody else has this one for ever.
    for server in &trio.servers {
        server.query::<()>(cmd("SET").arg(KEY).arg("other"));
    }
    let waits = QUEUE.timeout(TEST_TIMEOUT.saturating_mul(10));
    let mut workers = JoinSet::new();
    for key in 0..8 {
        let lock = trio.lock.clone();
        workers.spawn(async move {
            let key = format!("key:{key}");
            loop {
                match lock.acquire(&key, &OPTIONS).await {
                    Ok(guard) => drop(guard),
                    Err(refusal) => return refusal,
                }
            }
        });
    }
    let lock = trio.lock.clone();
    workers.spawn(async move { lock.acquire(KEY, &waits).await.unwrap_err() });
    until("all are at work", async || trio.lock.gauges().attempts() > 1_000).await;
    assert_eq!(trio.nodes.shutdown(TEST_TIMEOUT).await, 3);
    while let Some(refusal) = workers.join_next().await {
        let refusal = refusal.unwrap();
        assert!(refusal.causes().contains(&Some(Cause::Ended)), "{refusal}");
    }
    until("no other key is left", async || trio.keys() == [1, 1, 1]).await;
    let again = trio.lock.acquire(KEY, &waits).await.unwrap_err();
    assert!(again.to_string().contains("shut down"), "{again}");
}

#[tokio::test]
async fn who_waits_behind_a_lock_of_the_same_app_server_hears_of_a_shutdown_and_a_second_one_waits_for_nothing() {
    let trio = Trio::start().await;
    let _held = trio.lock.acquire(KEY, &OPTIONS).await.unwrap();
    let waits = QUEUE.timeout(TEST_TIMEOUT.saturating_mul(10));
    let shutdown = async {
        until("somebody waits", async || trio.lock.gauges().waiting() == 1).await;
        trio.nodes.shutdown(TEST_TIMEOUT).await
    };
    let (refused, flushed) = tokio::join!(trio.lock.acquire(KEY, &waits), shutdown);
    let refusal = refused.unwrap_err();
    assert!(refusal.causes().contains(&Some(Cause::Ended)), "{refusal}");
    assert_eq!(flushed, 3);
    let forever = TEST_TIMEOUT.saturating_mul(10);
    assert_eq!(
        (trio.nodes.shutdown(forever).await, trio.nodes.flush(forever).await),
        (0, 0)
    );
}

#[tokio::test]
async fn why_nothing_can_be_reached_is_told_in_words() {
    let _turn = beside();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let web = listener.local_addr().unwrap();
    thread::spawn(move || {
        use std::io::Write;
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    // Its reply does not end.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endless = listener.local_addr().unwrap();
    thread::spawn(move || {
        use std::io::Write;
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"*100000000\r\n");
            while stream.write_all(&b":1\r\n".repeat(250)).is_ok() {}
        }
    });
    let urls = [
        "redis://nobody.invalid".to_owned(),
        format!("redis://{web}"),
        format!("redis://{endless}"),
    ];
    let nodes = Nodes::open(&urls, PATIENT).unwrap();
    for (node, words) in [
        (0, "its name is not known"),
        (1, "no Redis or Valkey server"),
        (2, "no Redis or Valkey server"),
    ] {
        until(words, async || {
            let state = &nodes.states()[node];
            state
                .last_error
                .as_ref()
                .is_some_and(|cause| cause.to_string().contains(words))
        })
        .await;
    }
    let refusal = Lock::redlock(&nodes, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
    assert!(refusal.to_string().contains("its name is not known"), "{refusal}");
}

#[tokio::test]
async fn a_node_that_was_demoted_is_left_for_the_one_to_which_its_address_leads_now() {
    let _turn = beside();
    let (old, new) = (RedisServer::start(), RedisServer::start());
    let name = Intermediary::start(old.addr());
    let nodes = Nodes::connect(&[name.addr], PATIENT);
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let lock = Lock::single(&nodes, 0, 1);
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    old.query::<()>(cmd("REPLICAOF").arg("127.0.0.1").arg(new.port()));
    until("it says that it is a replica", async || {
        lock.acquire(KEY, &OPTIONS)
            .await
            .is_err_and(|refusal| refusal.causes() == [Some(Cause::ReadOnly)])
    })
    .await;
    name.move_to(new.addr());
    until("the new one votes", async || lock.acquire(KEY, &OPTIONS).await.is_ok()).await;
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
}
