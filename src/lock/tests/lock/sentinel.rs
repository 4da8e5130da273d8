//! Locks on the master that Sentinels name, on real servers.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use crate::kit::moving::{PATIENT, RENEWED, assert_typed, extended, reach, runtime};
use crate::kit::sentinel::{NAME, PASSWORD, Process, Watched};
use crate::kit::trio::{KEY, OPTIONS};
use crate::kit::{TEST_TIMEOUT, beside, eventually};
use lockstorm_lock::{AcquireOptions, Lock, NodeOptions, Nodes, NotExtended, Refusal, Sentinels, WaitReplicas};
use lockstorm_lock::{Cause, Wait};
use redis::cmd;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

fn open(watched: &Watched) -> Sentinels {
    open_with(watched, PATIENT)
}

fn open_with(watched: &Watched, options: NodeOptions) -> Sentinels {
    let sentinels = Sentinels::open(&watched.urls(), NAME, options).unwrap();
    sentinels.master_credentials(None, PASSWORD)
}

/// Waits until no key is left on this server, a master.
fn no_keys(server: &Process) {
    eventually("no key is left", || server.keys().is_empty());
}

#[test]
fn an_ordered_failover_is_followed_and_held_locks_stay_held() {
    let _turn = beside();
    let watched = Watched::start();
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let held = lock.acquire(KEY, &RENEWED).await.unwrap();
        let idle = lock.acquire("idle", &OPTIONS).await.unwrap();
        assert_eq!(watched.servers[0].keys().len(), 2);
        watched.replicated(0, 2);
        watched.fail_over(0);
        eventually("it is done", || watched.master_by(0) != 0);
        let now = watched.master_by(0);
        assert_typed(&reach(&lock, "probe", &watched.servers[now]).await, &[]);
        extended(&held).await;
        extended(&idle).await;
        assert_eq!(lock.acquire(KEY, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert_eq!((held.release().await.deleted, idle.release().await.deleted), (1, 1));
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        no_keys(&watched.servers[now]);
    });
}

#[test]
fn the_death_of_the_master_is_followed_and_what_was_replicated_is_never_held_twice() {
    let _turn = beside();
    let mut watched = Watched::start();
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let held = lock.acquire(KEY, &RENEWED).await.unwrap();
        watched.replicated(0, 2);
        watched.servers[0].kill();
        eventually("a replica is promoted", || watched.master_by(0) != 0);
        let now = watched.master_by(0);
        let causes = reach(&lock, "probe", &watched.servers[now]).await;
        assert_typed(&causes, &[]);
        assert_eq!(lock.acquire(KEY, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        extended(&held).await;
        held.release().await;
        lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        no_keys(&watched.servers[now]);
    });
}

#[test]
fn a_stopped_master_is_left_although_its_connection_lasts_and_it_does_not_lead_back() {
    let _turn = beside();
    let watched = Watched::start();
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let held = lock.acquire(KEY, &RENEWED).await.unwrap();
        watched.replicated(0, 2);
        watched.servers[0].pause();
        eventually("a replica is promoted", || watched.master_by(0) != 0);
        let now = watched.master_by(0);
        let server = &watched.servers[now];
        assert_typed(&reach(&lock, "probe", server).await, &[]);
        watched.servers[0].resume();
        // It takes itself for the master until it is told, and nobody here asks it.
        let told = async {
            while watched.servers[0].role() == "master" {
                let guard = lock.acquire("other", &OPTIONS).await.expect("the new master is known");
                assert!(server.keys().contains(&"other".to_owned()));
                guard.release().await;
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TEST_TIMEOUT, told).await.expect("it is made a replica");
        extended(&held).await;
        held.release().await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        no_keys(server);
        // What it was asked before it was stopped is overwritten.
        no_keys(&watched.servers[0]);
    });
}

#[test]
fn a_lock_that_the_master_has_forgotten_is_lost_with_the_signal() {
    let _turn = beside();
    let mut watched = Watched::start();
    // They must not replace the master before it is back.
    watched.sentinels.iter_mut().for_each(Process::kill);
    watched.sentinels[0].restart();
    watched.sentinels[0].query::<()>(cmd("SENTINEL").arg(&["SET", NAME, "down-after-milliseconds", "3600000"]));
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let held = lock.acquire(KEY, &RENEWED).await.unwrap();
        watched.servers[0].kill();
        watched.servers[0].restart();
        timeout(TEST_TIMEOUT, held.lost())
            .await
            .expect("the renewal finds no key");
        assert!(held.is_lost());
        let next = lock.acquire(KEY, &OPTIONS).await.unwrap();
        held.release().await;
        assert_eq!(watched.servers[0].keys(), [KEY]);
        next.release().await;
        no_keys(&watched.servers[0]);
    });
}

#[test]
fn a_sentinel_that_was_stopped_during_the_failover_does_not_lead_back() {
    let _turn = beside();
    let watched = Watched::start();
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        watched.sentinels[2].pause();
        watched.fail_over(0);
        eventually("it is done", || watched.master_by(0) != 0);
        let now = watched.master_by(0);
        let server = &watched.servers[now];
        assert_typed(&reach(&lock, "probe", server).await, &[]);
        watched.sentinels[2].resume();
        // Whatever it says until it has caught up, all locks are taken where the others say that the master is.
        let mut caught_up = false;
        while !caught_up {
            caught_up = watched.master_by(2) == now;
            let guard = lock.acquire(KEY, &OPTIONS).await.expect("the master is known");
            assert_eq!(server.keys(), [KEY]);
            guard.release().await;
        }
        // One that begins now asks all three.
        let late = open(&watched).master();
        assert_eq!(late.ready(TEST_TIMEOUT).await, 1);
        let guard = Lock::single(&late, 0, 1).acquire(KEY, &OPTIONS).await.unwrap();
        assert_eq!(server.keys(), [KEY]);
        guard.release().await;
        no_keys(server);
    });
}

#[test]
fn without_sentinels_there_is_no_master_and_with_the_first_one_there_is() {
    let _turn = beside();
    let mut watched = Watched::start();
    watched.sentinels.iter_mut().for_each(Process::kill);
    runtime().block_on(async {
        let nodes = open(&watched).master();
        let lock = Lock::single(&nodes, 0, 1);
        let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
        assert_eq!(
            refusal,
            Refusal::NoQuorum {
                causes: vec![Some(Cause::NoMaster)]
            }
        );
        let waiting = AcquireOptions {
            wait: Wait::Queue,
            ..OPTIONS
        };
        let waits = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire(KEY, &waiting).await }
        });
        tokio::task::yield_now().await;
        watched.sentinels[1].restart();
        let guard = waits.await.unwrap().expect("the master is found");
        assert_eq!(watched.servers[0].keys(), [KEY]);
        // The master stays although nobody can be asked.
        watched.sentinels[1].kill();
        guard.release().await;
        lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
        no_keys(&watched.servers[0]);
    });
}

#[test]
fn a_replica_that_sentinels_name_is_no_master() {
    let _turn = beside();
    let watched = Watched::start();
    runtime().block_on(async {
        let nodes = open(&watched).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        watched.sentinels.iter().for_each(Process::pause);
        let (master, other) = (&watched.servers[0], watched.servers[1].port);
        // Its connections stay, until it is made to close them as Sentinels do.
        master.query::<()>(cmd("REPLICAOF").arg("127.0.0.1").arg(other));
        let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
        assert_eq!(refusal.causes(), [Some(Cause::ReadOnly)]);
        let _: usize = master.query(cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]));
        let told = async {
            while lock.acquire(KEY, &OPTIONS).await.unwrap_err().causes() != [Some(Cause::NoMaster)] {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(TEST_TIMEOUT, told).await.expect("it says that it is a replica");
        assert_eq!(nodes.ready(Duration::ZERO).await, 0);
        master.query::<()>(cmd("REPLICAOF").arg(&["NO", "ONE"]));
        reach(&lock, "probe", master).await;
    });
    watched.sentinels.iter().for_each(Process::resume);
}

#[test]
fn a_plain_replica_is_read_only() {
    let _turn = beside();
    let watched = Watched::unwatched();
    runtime().block_on(async {
        let nodes = Nodes::open(&[watched.servers[1].url()], PATIENT).unwrap();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let refusal = Lock::single(&nodes, 0, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
        assert_eq!(
            refusal,
            Refusal::NoQuorum {
                causes: vec![Some(Cause::ReadOnly)]
            }
        );
    });
}

#[test]
fn sentinels_are_asked_with_the_documented_permissions_and_without_them_it_is_not_permitted() {
    let _turn = beside();
    let watched = Watched::start();
    let rules =
        "on >secret resetchannels &+switch-master +subscribe +sentinel|master +sentinel|get-master-addr-by-name";
    let mut urls = Vec::new();
    for sentinel in &watched.sentinels {
        let mut command = cmd("ACL");
        command.arg("SETUSER").arg("locks");
        sentinel.query::<()>(command.arg(rules.split_whitespace().collect::<Vec<_>>()));
        urls.push(format!("redis://locks:secret@127.0.0.1:{}", sentinel.port));
    }
    runtime().block_on(async {
        let sentinels = Sentinels::open(&urls, NAME, PATIENT).unwrap();
        let nodes = sentinels.clone().master_credentials(None, PASSWORD).master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        // The master has another password, and here it is left out.
        let is_denied = async |nodes: &Nodes| {
            let lock = Lock::single(nodes, 0, 1);
            while !matches!(lock.acquire(KEY, &OPTIONS).await, Err(Refusal::NotPermitted { .. })) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(TEST_TIMEOUT, is_denied(&sentinels.master()))
            .await
            .expect("the master denies it");
        let wrong: Vec<_> = urls.iter().map(|url| url.replace("secret", "wrong")).collect();
        let wrong = Sentinels::open(&wrong, NAME, PATIENT).unwrap().master();
        timeout(TEST_TIMEOUT, is_denied(&wrong))
            .await
            .expect("Sentinels deny it");
        let unknown = Sentinels::open(&urls, "other", PATIENT).unwrap().master();
        let refusal = Lock::single(&unknown, 0, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
        assert_eq!(refusal.causes(), [Some(Cause::NoMaster)]);
        nodes.flush(TEST_TIMEOUT).await;
    });
}

#[test]
fn when_nobody_uses_the_master_any_more_no_connection_stays() {
    let _turn = beside();
    let watched = Watched::start();
    let ours = || {
        let is_ours = |line: &&str| line.contains("cmd=sentinel|master") || line.contains("cmd=subscribe");
        let count = |sentinel: &Process| {
            let clients: String = sentinel.query(cmd("CLIENT").arg("LIST"));
            clients.lines().filter(is_ours).count()
        };
        watched.sentinels.iter().map(count).sum::<usize>()
    };
    let runtime = runtime();
    runtime.block_on(async {
        let before = ours();
        let sentinels = open(&watched);
        let nodes = sentinels.master();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        drop((sentinels, nodes));
        let until = async |expected: usize| {
            while ours() != expected {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TEST_TIMEOUT, until(before + 6))
            .await
            .expect("two for each Sentinel");
        lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
        drop(lock);
        timeout(TEST_TIMEOUT, until(before)).await.expect("none is left");
    });
}

#[test]
fn nobody_overlaps_in_a_healthy_lab_and_no_key_is_left() {
    const TASKS: usize = 8;
    const KEYS: usize = 4;
    const CYCLES: usize = 2000;
    let _turn = beside();
    let watched = Watched::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let busy: Arc<[AtomicBool; KEYS]> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        // Each is an app server of its own: they exclude each other by the master alone. One asks for its replicas too.
        let confirmed = NodeOptions {
            wait_replicas: Some(WaitReplicas {
                replicas: 2,
                timeout: TEST_TIMEOUT,
            }),
            ..PATIENT
        };
        let servers = [open(&watched).master(), open_with(&watched, confirmed).master()];
        let locks: Vec<_> = servers.iter().map(|nodes| Lock::single(nodes, 0, 1)).collect();
        for nodes in &servers {
            assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        }
        let waiting = AcquireOptions {
            wait: Wait::Queue,
            ..OPTIONS
        };
        let work = |task: usize| {
            let (lock, busy, done) = (locks[task % 2].clone(), Arc::clone(&busy), Arc::clone(&done));
            async move {
                while done.fetch_add(1, SeqCst) < CYCLES {
                    let key = (done.load(SeqCst) + task) % KEYS;
                    let guard = lock.acquire(&format!("key:{key}"), &waiting).await.unwrap();
                    assert!(!busy[key].swap(true, SeqCst), "{key} is held twice");
                    tokio::task::yield_now().await;
                    assert!(busy[key].swap(false, SeqCst) && !guard.is_lost());
                    if done.load(SeqCst) % 2 == 0 {
                        guard.release().await;
                    }
                }
            }
        };
        let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(work(task))).collect();
        for task in tasks {
            task.await.expect("nobody overlaps");
        }
        for nodes in &servers {
            assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        }
    });
    assert!(done.load(SeqCst) >= CYCLES);
    assert_eq!(watched.servers[0].keys(), Vec::<String>::new());
}

// Replicas that must confirm.

/// Nodes whose votes both replicas must confirm within this time.
fn confirmed(watched: &Watched, within: Duration) -> Nodes {
    let options = NodeOptions {
        node_timeout: Duration::from_secs(2),
        wait_replicas: Some(WaitReplicas {
            replicas: 2,
            timeout: within,
        }),
        ..PATIENT
    };
    Nodes::open(&[watched.servers[0].url()], options).unwrap()
}

/// Longer than the node timeout, which must not make the node suspect.
const LONG_WAIT: Duration = Duration::from_millis(2500);

fn is_unreplicated(causes: &[Option<Cause>]) -> bool {
    matches!(causes, [Some(Cause::Unreplicated { replicas: 0 | 1, of: 2 })])
}

#[test]
fn what_all_replicas_must_confirm_they_have_when_it_is_acquired() {
    let _turn = beside();
    let watched = Watched::unwatched();
    runtime().block_on(async {
        let nodes = confirmed(&watched, TEST_TIMEOUT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
        assert_eq!(lock.acquire(KEY, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        for server in &watched.servers {
            assert_eq!(server.keys(), [KEY]);
        }
        assert!(guard.extend().await.is_ok());
        assert_eq!(guard.release().await.deleted, 1);
        no_keys(&watched.servers[0]);
    });
}

#[test]
fn one_wait_is_enough_for_all_that_is_written_together() {
    const LOCKS: usize = 64;
    let _turn = beside();
    let watched = Watched::unwatched();
    let waits = || watched.servers[0].calls("wait");
    runtime().block_on(async {
        let nodes = confirmed(&watched, TEST_TIMEOUT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
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
    });
}

#[test]
fn what_is_asked_while_the_node_waits_is_the_next_batch() {
    let _turn = beside();
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    runtime().block_on(async {
        let nodes = confirmed(&watched, TEST_TIMEOUT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
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
    });
}

/// Waits until this server waits for its replicas.
async fn waits_for_replicas(server: &Process) {
    let blocked = async {
        loop {
            let clients: String = server.query(cmd("INFO").arg("clients"));
            if clients.contains("blocked_clients:1") {
                return;
            }
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(TEST_TIMEOUT, blocked).await.expect("the node waits");
}

#[test]
fn a_lock_that_a_replica_does_not_confirm_is_undone_and_releases_go_through() {
    let _turn = beside();
    let watched = Watched::unwatched();
    runtime().block_on(async {
        let nodes = confirmed(&watched, LONG_WAIT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
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
        assert_eq!(watched.servers[0].keys(), ["held"]);
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
        watched.replicated(0, 2);
        let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
        guard.release().await;
    });
}

#[test]
fn a_connection_that_breaks_while_replicas_are_waited_for_leaves_the_vote_unknown_and_no_key() {
    let _turn = beside();
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    runtime().block_on(async {
        let nodes = confirmed(&watched, TEST_TIMEOUT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        watched.servers[2].pause();
        let waits = tokio::spawn(async move { lock.acquire(KEY, &OPTIONS).await });
        waits_for_replicas(master).await;
        assert_eq!(master.keys(), [KEY]);
        let _: usize = master.query(cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]));
        let refusal = waits.await.unwrap().unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Unknown {
                causes: vec![Some(Cause::Disconnected)]
            }
        );
        no_keys_while(master, &nodes).await;
    });
    watched.servers[2].resume();
}

/// Waits until no key is left on this server, while the nodes delete it.
async fn no_keys_while(server: &Process, nodes: &Nodes) {
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[test]
fn without_the_permission_to_wait_nothing_is_permitted() {
    let _turn = beside();
    let watched = Watched::unwatched();
    let master = &watched.servers[0];
    master.query::<()>(cmd("ACL").arg(&["SETUSER", "default", "-wait"]));
    runtime().block_on(async {
        let nodes = confirmed(&watched, TEST_TIMEOUT);
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let refusal = Lock::single(&nodes, 0, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
        assert!(matches!(refusal, Refusal::NotPermitted { .. }), "{refusal:?}");
        no_keys_while(master, &nodes).await;
    });
}
