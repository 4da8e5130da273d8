//! Locks on the master that Sentinels name, on real servers.

use std::time::Duration;

use crate::kit::moving::{PATIENT, assert_typed, extended, nobody_overlaps, reach};
use crate::kit::sentinel::{NAME, PASSWORD, Watched};
use crate::kit::trio::{KEY, OPTIONS, QUEUE, RENEWED, no_quorum, unknown};
use crate::kit::{RedisServer, TEST_TIMEOUT, eventually, in_time, until};
use lockstorm_lock::{Cause, Lock, NodeOptions, Nodes, NotExtended, Refusal, Sentinels, WaitReplicas};
use redis::cmd;
use tokio::time::sleep;

fn open(watched: &Watched, options: NodeOptions) -> Sentinels {
    let sentinels = Sentinels::open(&watched.urls(), NAME, options).unwrap();
    sentinels.master_credentials(None, PASSWORD)
}

/// The master, connected, and a lock there.
async fn master(watched: &Watched) -> (Nodes, Lock) {
    connected(open(watched, PATIENT).master()).await
}

async fn connected(nodes: Nodes) -> (Nodes, Lock) {
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let lock = Lock::single(&nodes, 0, 1);
    (nodes, lock)
}

/// Waits until another server is the master by the word of the first Sentinel.
fn promoted(watched: &Watched) -> &RedisServer {
    eventually("a replica is promoted", || watched.master_by(0) != 0);
    &watched.servers[watched.master_by(0)]
}

async fn is_contended(lock: &Lock) {
    assert_eq!(lock.acquire(KEY, &OPTIONS).await.unwrap_err(), Refusal::Contended);
}

/// Waits until no key is left on this server, a master.
fn no_keys(server: &RedisServer) {
    eventually("no key is left", || server.keys() == 0);
}

#[tokio::test]
async fn an_ordered_failover_is_followed_and_held_locks_stay_held() {
    let watched = Watched::start();
    let (nodes, lock) = master(&watched).await;
    let held = lock.acquire(KEY, &RENEWED).await.unwrap();
    let idle = lock.acquire("idle", &OPTIONS).await.unwrap();
    assert_eq!(watched.servers[0].keys(), 2);
    watched.replicated();
    watched.fail_over(0);
    let server = promoted(&watched);
    assert_typed(&reach(&lock, "probe", server).await, &[]);
    extended(&held).await;
    extended(&idle).await;
    is_contended(&lock).await;
    assert_eq!((held.release().await.deleted, idle.release().await.deleted), (1, 1));
    no_keys_while(server, &nodes).await;
}

#[tokio::test]
async fn the_death_of_the_master_is_followed_and_what_was_replicated_is_never_held_twice() {
    let mut watched = Watched::start();
    let (nodes, lock) = master(&watched).await;
    let held = lock.acquire(KEY, &RENEWED).await.unwrap();
    watched.replicated();
    watched.servers[0].kill();
    let server = promoted(&watched);
    assert_typed(&reach(&lock, "probe", server).await, &[]);
    is_contended(&lock).await;
    extended(&held).await;
    held.release().await;
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    no_keys_while(server, &nodes).await;
}

#[tokio::test]
async fn a_stopped_master_is_left_although_its_connection_lasts_and_it_does_not_lead_back() {
    let watched = Watched::start();
    let (nodes, lock) = master(&watched).await;
    let held = lock.acquire(KEY, &RENEWED).await.unwrap();
    watched.replicated();
    watched.servers[0].pause();
    let server = promoted(&watched);
    assert_typed(&reach(&lock, "probe", server).await, &[]);
    watched.servers[0].resume();
    // It takes itself for the master until it is told, and nobody here asks it.
    let told = async {
        while watched.servers[0].role() == "master" {
            let guard = lock.acquire("other", &OPTIONS).await.expect("the new master is known");
            assert!(server.names().contains(&"other".to_owned()));
            guard.release().await;
            sleep(Duration::from_millis(5)).await;
        }
    };
    in_time("it is made a replica", told).await;
    extended(&held).await;
    held.release().await;
    no_keys_while(server, &nodes).await;
    // What it was asked before it was stopped is overwritten.
    no_keys(&watched.servers[0]);
}

#[tokio::test]
async fn a_lock_that_the_master_has_forgotten_is_lost_with_the_signal() {
    let mut watched = Watched::start();
    // They must not replace the master before it is back.
    watched.sentinels.iter_mut().for_each(RedisServer::kill);
    watched.sentinels[0].restart();
    watched.sentinels[0].query::<()>(cmd("SENTINEL").arg(&["SET", NAME, "down-after-milliseconds", "3600000"]));
    let (_nodes, lock) = master(&watched).await;
    let held = lock.acquire(KEY, &RENEWED).await.unwrap();
    watched.servers[0].kill();
    watched.servers[0].restart();
    in_time("the renewal finds no key", held.lost()).await;
    assert!(held.is_lost());
    let next = lock.acquire(KEY, &OPTIONS).await.unwrap();
    held.release().await;
    assert_eq!(watched.servers[0].names(), [KEY]);
    next.release().await;
    no_keys(&watched.servers[0]);
}

#[tokio::test]
async fn a_sentinel_that_was_stopped_during_the_failover_does_not_lead_back() {
    let watched = Watched::start();
    let (_nodes, lock) = master(&watched).await;
    watched.sentinels[2].pause();
    watched.fail_over(0);
    let server = promoted(&watched);
    assert_typed(&reach(&lock, "probe", server).await, &[]);
    watched.sentinels[2].resume();
    // Whatever it says until it has caught up, all locks are taken where the others say that the master is.
    let mut caught_up = false;
    while !caught_up {
        caught_up = watched.servers[watched.master_by(2)].port() == server.port();
        let guard = lock.acquire(KEY, &OPTIONS).await.expect("the master is known");
        assert_eq!(server.names(), [KEY]);
        guard.release().await;
    }
    // One that begins now asks all three.
    let (_late, lock) = master(&watched).await;
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    assert_eq!(server.names(), [KEY]);
    guard.release().await;
    no_keys(server);
}

#[tokio::test]
async fn without_sentinels_there_is_no_master_and_with_the_first_one_there_is() {
    let mut watched = Watched::start();
    watched.sentinels.iter_mut().for_each(RedisServer::kill);
    let lock = Lock::single(&open(&watched, PATIENT).master(), 0, 1);
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::NoMaster)]));
    let waits = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire(KEY, &QUEUE).await }
    });
    tokio::task::yield_now().await;
    watched.sentinels[1].restart();
    let guard = waits.await.unwrap().expect("the master is found");
    assert_eq!(watched.servers[0].names(), [KEY]);
    // The master stays although nobody can be asked.
    watched.sentinels[1].kill();
    guard.release().await;
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    no_keys(&watched.servers[0]);
}

#[tokio::test]
async fn a_replica_that_sentinels_name_is_no_master() {
    let watched = Watched::start();
    let (nodes, lock) = master(&watched).await;
    watched.sentinels.iter().for_each(RedisServer::pause);
    let (master, other) = (&watched.servers[0], watched.servers[1].port());
    // Its connections stay, until it is made to close them as Sentinels do.
    master.query::<()>(cmd("REPLICAOF").arg("127.0.0.1").arg(other));
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal.causes(), [Some(Cause::ReadOnly)]);
    let _: usize = master.query(cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]));
    until("it says that it is a replica", async || {
        lock.acquire(KEY, &OPTIONS).await.unwrap_err().causes() == [Some(Cause::NoMaster)]
    })
    .await;
    assert_eq!(nodes.ready(Duration::ZERO).await, 0);
    master.query::<()>(cmd("REPLICAOF").arg(&["NO", "ONE"]));
    reach(&lock, "probe", master).await;
    watched.sentinels.iter().for_each(RedisServer::resume);
}

#[tokio::test]
async fn a_plain_replica_is_read_only() {
    let watched = Watched::unwatched();
    let (_nodes, lock) = connected(Nodes::open(&[watched.servers[1].url()], PATIENT).unwrap()).await;
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::ReadOnly)]));
}

#[tokio::test]
async fn sentinels_are_asked_with_the_documented_permissions_and_without_them_it_is_not_permitted() {
    let watched = Watched::start();
    let rules = "resetchannels &+switch-master +subscribe +sentinel|master +sentinel|get-master-addr-by-name";
    let mut urls = Vec::new();
    for sentinel in &watched.sentinels {
        sentinel.add_user(rules);
        urls.push(format!("redis://locks:secret@127.0.0.1:{}", sentinel.port()));
    }
    let sentinels = Sentinels::open(&urls, NAME, PATIENT).unwrap();
    let nodes = sentinels.clone().master_credentials(None, PASSWORD).master();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    // The master has another password, and here it is left out.
    let is_denied = async |who: &str, nodes: Nodes| {
        let lock = Lock::single(&nodes, 0, 1);
        until(who, async || {
            matches!(lock.acquire(KEY, &OPTIONS).await, Err(Refusal::NotPermitted { .. }))
        })
        .await;
    };
    is_denied("the master denies it", sentinels.master()).await;
    let wrong: Vec<_> = urls.iter().map(|url| url.replace("secret", "wrong")).collect();
    let wrong = Sentinels::open(&wrong, NAME, PATIENT).unwrap().master();
    is_denied("Sentinels deny it", wrong).await;
    let unknown = Sentinels::open(&urls, "other", PATIENT).unwrap().master();
    let refusal = Lock::single(&unknown, 0, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal.causes(), [Some(Cause::NoMaster)]);
    nodes.flush(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn when_nobody_uses_the_master_any_more_no_connection_stays() {
    let watched = Watched::start();
    let ours = || {
        let is_ours = |line: &&str| line.contains("cmd=sentinel|master") || line.contains("cmd=subscribe");
        let count = |sentinel: &RedisServer| {
            let clients: String = sentinel.query(cmd("CLIENT").arg("LIST"));
            clients.lines().filter(is_ours).count()
        };
        watched.sentinels.iter().map(count).sum::<usize>()
    };
    let before = ours();
    let (nodes, lock) = master(&watched).await;
    drop(nodes);
    until("two for each Sentinel", async || ours() == before + 6).await;
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    drop(lock);
    until("none is left", async || ours() == before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_overlaps_in_a_healthy_lab_and_no_key_is_left() {
    let watched = Watched::start();
    // Each is an app server of its own: they exclude each other by the master alone. One asks for its replicas too.
    let confirmed = PATIENT.wait_replicas(both_within(TEST_TIMEOUT));
    let (plain, confirmed) = (open(&watched, PATIENT), open(&watched, confirmed));
    let (plain, confirmed) = (connected(plain.master()).await, connected(confirmed.master()).await);
    nobody_overlaps::<4>([plain.0, confirmed.0]).await;
    assert_eq!(watched.servers[0].keys(), 0);
}

// Replicas that must confirm.

const fn both_within(timeout: Duration) -> WaitReplicas {
    WaitReplicas::new(2, timeout)
}

/// A master without Sentinels, whose votes both replicas must confirm within this time, and a lock there.
async fn confirmed(watched: &Watched, within: Duration) -> (Nodes, Lock) {
    let options = PATIENT
        .node_timeout(Duration::from_secs(2))
        .wait_replicas(both_within(within));
    connected(Nodes::open(&[watched.servers[0].url()], options).unwrap()).await
}

/// Longer than the node timeout, which must not make the node suspect.
const LONG_WAIT: Duration = Duration::from_millis(2500);

fn is_unreplicated(causes: &[Option<Cause>]) -> bool {
    matches!(causes, [Some(Cause::Unreplicated { replicas: 0 | 1, of: 2 })])
}

#[tokio::test]
async fn what_all_replicas_must_confirm_they_have_when_it_is_acquired() {
    let watched = Watched::unwatched();
    let (_nodes, lock) = confirmed(&watched, TEST_TIMEOUT).await;
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    is_contended(&lock).await;
    for server in &watched.servers {
        assert_eq!(server.names(), [KEY]);
    }
    assert!(guard.extend().await.is_ok());
    assert_eq!(guard.release().await.deleted, 1);
    no_keys(&watched.servers[0]);
}

#[tokio::test]
async fn one_wait_is_enough_for_all_that_is_written_together() {
    const LOCKS: usize = 64;
    let watched = Watched::unwatched();
    let waits = || watched.servers[0].calls("wait");
    let (nodes, lock) = confirmed(&watched, TEST_TIMEOUT).await;
    let before = waits();
    let acquire = |key: usize| {
        let lock = lock.clone();
        async move { lock.acquire(&key.to_string(), &OPTIONS).await }
    };
    let tasks: Vec<_> = (0..LOCKS).map(|key| tokio::spawn(acquire(key))).collect();
    let mut guards = Vec::new();
    for task in tasks {
        guards.push(task.await.unwrap().unwrap());
    }
    let acquired = waits() - before;
    assert!((1..=LOCKS as u64 / 4).contains(&acquired), "{acquired}");
    drop(guards);
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(waits() - before, acquired, "releases need none");
    no_keys(&watched.servers[0]);
}

#[tokio::test]
async fn what_is_asked_while_the_node_waits_is_the_next_batch() {
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    let (nodes, lock) = confirmed(&watched, TEST_TIMEOUT).await;
    let acquire = |key: &'static str| {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire(key, &OPTIONS).await })
    };
    watched.servers[2].pause();
    let first = acquire("first");
    waits_for_replicas(master).await;
    let (second, third) = (acquire("second"), acquire("third"));
    tokio::task::yield_now().await;
    let sent = lock.gauges().sent(0).sets;
    watched.servers[2].resume();
    for guard in [first, second, third] {
        guard.await.unwrap().unwrap().release().await;
    }
    assert_eq!((sent, lock.gauges().sent(0).sets), (1, 3));
    no_keys_while(master, &nodes).await;
}

/// Waits until this server waits for its replicas.
async fn waits_for_replicas(server: &RedisServer) {
    until("the node waits", async || {
        let clients: String = server.query(cmd("INFO").arg("clients"));
        clients.contains("blocked_clients:1")
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_a_replica_does_not_confirm_is_undone_and_releases_go_through() {
    let watched = Watched::unwatched();
    let (nodes, lock) = confirmed(&watched, LONG_WAIT).await;
    let held = lock.acquire("held", &OPTIONS).await.unwrap();
    watched.servers[2].pause();
    for _ in 0..2 {
        let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
        assert!(
            matches!(&refusal, Refusal::NoQuorum { causes } if is_unreplicated(causes)),
            "{refusal:?}"
        );
    }
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(watched.servers[0].names(), ["held"]);
    let validity = held.validity();
    let refused = held.extend().await.unwrap_err();
    assert!(
        matches!(&refused, NotExtended::NoQuorum { causes } if is_unreplicated(causes)),
        "{refused:?}"
    );
    assert!(
        !held.is_lost() && held.validity() < validity,
        "it is as if it had not been extended"
    );
    assert_eq!(held.release().await.deleted, 1);
    no_keys(&watched.servers[0]);
    watched.servers[2].resume();
    watched.replicated();
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
}

#[tokio::test]
async fn a_connection_that_breaks_while_replicas_are_waited_for_leaves_the_vote_unknown_and_no_key() {
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    let (nodes, lock) = confirmed(&watched, TEST_TIMEOUT).await;
    watched.servers[2].pause();
    let waits = tokio::spawn(async move { lock.acquire(KEY, &OPTIONS).await });
    waits_for_replicas(master).await;
    assert_eq!(master.names(), [KEY]);
    let _: usize = master.query(cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]));
    let refusal = waits.await.unwrap().unwrap_err();
    assert_eq!(refusal, unknown([Some(Cause::Disconnected)]));
    no_keys_while(master, &nodes).await;
    watched.servers[2].resume();
}

/// Waits until no key is left on this server, while the nodes delete it.
async fn no_keys_while(server: &RedisServer, nodes: &Nodes) {
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(server.keys(), 0);
}

#[tokio::test]
async fn without_the_permission_to_wait_nothing_is_permitted() {
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    master.query::<()>(cmd("ACL").arg(&["SETUSER", "default", "-wait"]));
    let (nodes, lock) = confirmed(&watched, TEST_TIMEOUT).await;
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{refusal:?}");
    no_keys_while(master, &nodes).await;
}
