//! Locks on a cluster, on real servers.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use crate::kit::cluster::Clustered;
use crate::kit::moving::{PATIENT, RENEWED, assert_typed, extended, reach, runtime};
use crate::kit::sentinel::{PASSWORD, Process};
use crate::kit::trio::OPTIONS;
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually};
use lockstorm_lock::{AcquireOptions, Cluster, Lock, NodeAddress, NodeOptions, Nodes, Refusal, WaitReplicas};
use lockstorm_lock::{Cause, CauseKind, Wait};
use redis::cmd;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

const MASTERS: [usize; 3] = [0, 1, 2];

const WAITING: AcquireOptions = AcquireOptions {
    wait: Wait::Queue,
    ..OPTIONS
};

/// The whole cluster as one node, connected.
async fn open(clustered: &Clustered) -> Nodes {
    let nodes = Cluster::open(&clustered.urls(), PATIENT).unwrap().node();
    assert_eq!((nodes.ready(TEST_TIMEOUT).await, nodes.len()), (1, 1));
    nodes
}

/// Another key of the same slot; `key` has no tag.
fn neighbour(key: &str) -> String {
    format!("beside:{{{key}}}")
}

/// One more.
fn beyond(key: &str) -> String {
    format!("beyond:{{{key}}}")
}

#[test]
fn a_node_that_belongs_to_no_cluster_leads_nobody_astray() {
    let _turn = beside();
    let clustered = Clustered::start();
    let dir = TempDir::with_prefix("lockstorm-test-").unwrap();
    let blank = Process::start(dir.path(), PASSWORD, "cluster-enabled yes\n", &[]);
    runtime().block_on(async {
        // The first address is that of a node that nobody has added yet.
        let urls: Vec<String> = [blank.url()].into_iter().chain(clustered.urls()).collect();
        let nodes = Cluster::open(&urls, PATIENT).unwrap().node();
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(0);
        reach(&lock, &key, &clustered.servers[0]).await;

        // The node that is asked leaves its cluster, and knows nothing of the one that takes over.
        clustered.servers[0].query::<()>(&cmd("FLUSHALL"));
        clustered.order::<()>(0, &["RESET", "HARD"]);
        clustered.order::<()>(3, &["FAILOVER", "TAKEOVER"]);
        assert_typed(&reach(&lock, &key, &clustered.servers[3]).await, &[CauseKind::Moved]);
        let guard = lock.acquire(&clustered.key_at(1), &OPTIONS).await.unwrap();
        assert_eq!(guard.release().await.deleted, 1);
    });
}

#[test]
fn a_master_that_the_others_have_lost_and_that_answers_still_is_left() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        // The first address, so it is the one that is asked.
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(0);
        reach(&lock, &key, &clustered.servers[0]).await;

        // It hears nothing of the others any more, and goes on to say that it has its slots.
        for other in 1..clustered.servers.len() {
            clustered.order::<()>(0, &["FORGET", &clustered.id(other)]);
        }
        clustered.order::<()>(3, &["FAILOVER", "TAKEOVER"]);
        let typed = reach(&lock, &key, &clustered.servers[3]).await;
        assert_typed(&typed, &[]);
        let old = clustered.order::<String>(0, &["NODES"]);
        assert!(old.lines().count() == 1 && old.contains("myself,master"), "{old}");
    });
}

#[test]
fn every_key_is_at_its_owner_without_a_detour_and_gone_after_its_release() {
    const LOCKS: usize = 300;
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let name = |number: usize| match number % 4 {
            0 => format!("sku:{number}"),
            1 => format!("a{{tag:{number}}}b{{c}}"),
            2 => format!("{{}}{number}"),
            _ => format!("ключ {number}}}{{"),
        };
        let mut guards = Vec::new();
        for number in 0..LOCKS {
            guards.push(lock.acquire(&name(number), &OPTIONS).await.unwrap());
        }
        let keys = clustered.keys(&MASTERS);
        assert!(
            keys.iter().sum::<usize>() == LOCKS && keys.iter().all(|keys| *keys > LOCKS / 10),
            "{keys:?}"
        );
        assert_eq!(lock.acquire(&name(7), &OPTIONS).await.unwrap_err(), Refusal::Contended);
        for guard in &guards {
            assert!(guard.extend().await.is_ok());
        }
        let last = guards.pop().unwrap();
        assert_eq!(last.release().await.deleted, 1);
        drop(guards);
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
        // No command was sent twice, so none was for a key that its node does not have: our slots are those of the servers.
        let sent = lock.gauges().sent(0);
        assert_eq!(
            (sent.sets, sent.extends, sent.deletes),
            (LOCKS as u64 + 1, LOCKS as u64, LOCKS as u64)
        );
    });
}

#[test]
fn locks_are_renewed_waited_for_and_lost_with_a_signal() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let (here, there) = (open(&clustered).await, open(&clustered).await);
        let (lock, other) = (Lock::single(&here, 0, 1), Lock::single(&there, 0, 1));
        for master in MASTERS {
            let key = clustered.key_at(master);
            let brief = AcquireOptions {
                ttl: Duration::from_secs(2),
                renew: Some(Duration::from_millis(200)),
                ..WAITING
            };
            let held = lock.acquire(&key, &brief).await.unwrap();
            let waits = tokio::spawn({
                let (other, key) = (other.clone(), key.clone());
                async move { other.acquire(&key, &WAITING).await }
            });
            sleep(Duration::from_millis(2500)).await;
            assert!(!held.is_lost() && !waits.is_finished());
            held.release().await;
            let next = waits.await.unwrap().expect("it is its turn");
            next.release().await;
            let held = lock.acquire(&key, &RENEWED).await.unwrap();
            clustered.servers[master].query::<()>(&cmd("FLUSHALL"));
            timeout(TEST_TIMEOUT, held.lost())
                .await
                .expect("the renewal finds no key");
            held.release().await;
        }
        assert_eq!(
            (here.flush(TEST_TIMEOUT).await, there.flush(TEST_TIMEOUT).await),
            (1, 1)
        );
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
    });
}

#[test]
fn a_waiter_hears_of_a_release_wherever_it_listens() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let (here, there) = (open(&clustered).await, open(&clustered).await);
        let (lock, other) = (Lock::single(&here, 0, 1), Lock::single(&there, 0, 1));
        let key = clustered.key_at(1);
        let held = lock.acquire(&key, &WAITING).await.unwrap();
        let waits = tokio::spawn({
            let (other, key) = (other.clone(), key.clone());
            async move { other.acquire(&key, &WAITING).await }
        });
        let channel = format!("lockstorm:released:{key}");
        let subscribed = async {
            let listens = |server: &Process| {
                let count: (String, usize) = server.query(cmd("PUBSUB").arg("NUMSUB").arg(&channel));
                count.1 > 0
            };
            while !clustered.servers.iter().any(listens) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TEST_TIMEOUT, subscribed)
            .await
            .expect("the waiter listens somewhere");
        held.release().await;
        waits.await.unwrap().unwrap().release().await;
    });
}

#[test]
fn a_slot_on_its_way_is_followed_without_the_loss_of_a_lock() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(0);
        let (slot, new) = (clustered.slot(&key).to_string(), neighbour(&key));
        let (from, to) = (clustered.id(0), clustered.id(1));
        let held = lock.acquire(&key, &RENEWED).await.unwrap();
        clustered.order::<()>(1, &["SETSLOT", &slot, "IMPORTING", &from]);
        clustered.order::<()>(0, &["SETSLOT", &slot, "MIGRATING", &to]);
        // New keys of the slot are at the new owner already, and the old ones are still at the old one.
        let second = lock.acquire(&new, &RENEWED).await.unwrap();
        assert_eq!(
            (clustered.servers[0].keys(), clustered.servers[1].keys()),
            (vec![key.clone()], vec![new.clone()])
        );
        assert_eq!(lock.acquire(&new, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert!(held.extend().await.is_ok() && second.extend().await.is_ok());
        let third = lock.acquire(&beyond(&key), &OPTIONS).await.unwrap();
        assert_eq!(third.release().await.deleted, 1);
        let port = clustered.servers[1].port.to_string();
        let migrate = ["127.0.0.1", &port, &key, "0", "5000", "AUTH", PASSWORD];
        let moved: String = clustered.servers[0].query(cmd("MIGRATE").arg(&migrate));
        assert_eq!(moved, "OK");
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert!(held.extend().await.is_ok());
        for server in [1, 0, 2] {
            clustered.order::<()>(server, &["SETSLOT", &slot, "NODE", &to]);
        }
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert!(held.extend().await.is_ok() && !held.is_lost() && !second.is_lost());
        assert_eq!((held.release().await.deleted, second.release().await.deleted), (1, 1));
        lock.acquire(&key, &OPTIONS).await.unwrap().release().await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
    });
}

#[test]
fn the_death_of_a_master_is_followed_with_its_locks_and_what_was_owed_is_deleted_at_its_replica() {
    let _turn = beside();
    let mut clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(0);
        let (slot, other) = (clustered.slot(&key), neighbour(&key));
        let held = lock.acquire(&key, &RENEWED).await.unwrap();
        let dropped = lock.acquire(&other, &OPTIONS).await.unwrap();
        let elsewhere = lock.acquire(&clustered.key_at(1), &RENEWED).await.unwrap();
        clustered.servers[0].query::<usize>(cmd("WAIT").arg(1).arg(5000));
        eventually("the replica has both", || clustered.servers[3].keys().len() == 2);
        clustered.servers[0].kill();
        drop(dropped);
        let causes = reach(&lock, &beyond(&key), &clustered.servers[3]).await;
        assert_typed(&causes, &[CauseKind::Moved]);
        assert!(!causes.is_empty());
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        extended(&held).await;
        extended(&elsewhere).await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.servers[3].keys(), std::slice::from_ref(&key));
        // The old master comes back as a replica, and does not lead back.
        clustered.servers[0].restart();
        clustered.until_owner(slot, 3);
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert_eq!(
            (held.release().await.deleted, elsewhere.release().await.deleted),
            (1, 1)
        );
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&[3, 1, 2]), [0, 0, 0]);
    });
}

#[test]
fn a_stopped_master_is_left_although_its_connection_lasts() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let options = NodeOptions {
            node_timeout: Duration::from_millis(200),
            ..PATIENT
        };
        let nodes = Cluster::open(&clustered.urls(), options).unwrap().node();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(2);
        let held = lock.acquire(&key, &RENEWED).await.unwrap();
        eventually("the replica has it", || clustered.servers[5].keys().len() == 1);
        clustered.servers[2].pause();
        assert_typed(
            &reach(&lock, &neighbour(&key), &clustered.servers[5]).await,
            &[CauseKind::Moved],
        );
        clustered.servers[2].resume();
        clustered.until_owner(clustered.slot(&key), 5);
        extended(&held).await;
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        held.release().await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&[0, 1, 5]), [0, 0, 0]);
    });
}

#[test]
fn an_ordered_failover_is_followed_and_held_locks_stay_held() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(1);
        let held = lock.acquire(&key, &RENEWED).await.unwrap();
        clustered.order::<()>(4, &["FAILOVER"]);
        assert_typed(
            &reach(&lock, &neighbour(&key), &clustered.servers[4]).await,
            &[CauseKind::Moved],
        );
        extended(&held).await;
        assert_eq!(lock.acquire(&key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
        assert_eq!(held.release().await.deleted, 1);
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&[0, 4, 2]), [0, 0, 0]);
    });
}

#[test]
fn an_incomplete_cluster_is_not_ready_and_the_slots_without_a_master_are_told() {
    let _turn = beside();
    let mut clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        let (dead, alive) = (clustered.key_at(0), clustered.key_at(1));
        for server in [3, 0] {
            clustered.servers[server].kill();
        }
        let told = async {
            loop {
                let refusal = lock.acquire(&alive, &OPTIONS).await.err();
                let causes = refusal.as_ref().map_or(&[][..], Refusal::causes);
                match causes {
                    [] => sleep(Duration::from_millis(2)).await,
                    [Some(Cause::NotReady(text))] if text.starts_with("CLUSTERDOWN") => return,
                    other => panic!("{other:?}"),
                }
            }
        };
        timeout(TEST_TIMEOUT, told).await.expect("the cluster is down");
        let refusal = lock.acquire(&dead, &OPTIONS).await.unwrap_err();
        let causes = vec![Some(Cause::Refused)];
        assert_eq!(refusal, Refusal::NoQuorum { causes });
        clustered.servers[0].restart();
        reach(&lock, &dead, &clustered.servers[0]).await;
        reach(&lock, &alive, &clustered.servers[1]).await;
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
    });
}

#[test]
fn the_replica_of_the_owner_confirms_a_vote_or_it_is_undone() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let options = NodeOptions {
            wait_replicas: Some(WaitReplicas {
                replicas: 1,
                timeout: Duration::from_millis(500),
            }),
            ..PATIENT
        };
        let nodes = Cluster::open(&clustered.urls(), options).unwrap().node();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(1);
        let held = lock.acquire(&key, &OPTIONS).await.unwrap();
        // It may still wait in the replica's memory to be applied.
        eventually("the replica has it", || clustered.servers[4].keys() == [key.clone()]);
        clustered.servers[4].pause();
        let refusal = lock.acquire(&neighbour(&key), &OPTIONS).await.unwrap_err();
        let causes = vec![Some(Cause::Unreplicated { replicas: 0, of: 1 })];
        assert_eq!(refusal, Refusal::NoQuorum { causes });
        let other = clustered.key_at(2);
        lock.acquire(&other, &OPTIONS).await.unwrap().release().await;
        assert_eq!(held.release().await.deleted, 1);
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
        clustered.servers[4].resume();
    });
}

#[test]
fn its_masters_are_no_quorum_and_say_that_the_key_is_elsewhere() {
    let _turn = beside();
    let clustered = Clustered::start();
    runtime().block_on(async {
        let nodes = Nodes::open(&clustered.urls()[..3], PATIENT).unwrap();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
        let lock = Lock::redlock(&nodes, 1);
        for master in MASTERS {
            let refusal = lock.acquire(&clustered.key_at(master), &OPTIONS).await.unwrap_err();
            let mut causes = vec![Some(Cause::Moved); 3];
            causes[master] = None;
            assert_eq!(refusal, Refusal::NoQuorum { causes });
        }
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
        assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
        assert!(clustered.moved(&MASTERS) >= 6);
    });
}

#[test]
fn what_is_not_a_cluster_or_denies_it_is_told() {
    let _turn = beside();
    let server = RedisServer::start();
    let clustered = Clustered::start();
    let urls = clustered.urls();
    runtime().block_on(async {
        let until = async |nodes: &Nodes, expected: &dyn Fn(&Refusal) -> bool| {
            let lock = Lock::single(nodes, 0, 1);
            let told = async {
                while !lock
                    .acquire("k", &OPTIONS)
                    .await
                    .is_err_and(|refusal| expected(&refusal))
                {
                    sleep(Duration::from_millis(2)).await;
                }
            };
            timeout(TEST_TIMEOUT, told).await.expect("it is told");
            assert_eq!(nodes.ready(Duration::ZERO).await, 0);
        };
        let plain = Cluster::at(&[server.addr().into()], PATIENT).node();
        until(&plain, &|refusal| {
            matches!(refusal, Refusal::NoQuorum { causes }
                if matches!(&causes[..], [Some(Cause::Error(text))] if text.contains("cluster support disabled")))
        })
        .await;
        assert_eq!(server.calls("set"), 0);
        let nowhere = Cluster::at(&[], PATIENT).node();
        let causes = vec![Some(Cause::NoMaster)];
        until(&nowhere, &|refusal| {
            *refusal == Refusal::NoQuorum { causes: causes.clone() }
        })
        .await;
        let wrong: Vec<_> = urls.iter().map(|url| url.replace(PASSWORD, "wrong")).collect();
        let wrong = Cluster::open(&wrong, PATIENT).unwrap().node();
        until(&wrong, &|refusal| matches!(refusal, Refusal::NotPermitted { .. })).await;
        // One node that answers is enough.
        let dead = NodeAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
        let one = NodeAddress::parse(&urls[4]).unwrap();
        let found = Cluster::at(&[one, dead], PATIENT).node();
        assert_eq!(found.ready(TEST_TIMEOUT).await, 1);
        Lock::single(&found, 0, 1)
            .acquire("k", &OPTIONS)
            .await
            .unwrap()
            .release()
            .await;
    });
}

#[test]
fn a_user_with_the_documented_permissions_is_enough() {
    let _turn = beside();
    let clustered = Clustered::start();
    let rules = "on >secret ~* resetchannels &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha \
                 +script|load +publish +subscribe +unsubscribe +ping +cluster|slots +cluster|nodes +asking";
    for server in &clustered.servers {
        let mut command = cmd("ACL");
        command.arg("SETUSER").arg("locks");
        server.query::<()>(command.arg(rules.split_whitespace().collect::<Vec<_>>()));
    }
    runtime().block_on(async {
        let urls: Vec<_> = clustered.urls();
        let urls: Vec<_> = urls
            .iter()
            .map(|url| url.replace(&format!(":{PASSWORD}"), "locks:secret"))
            .collect();
        let nodes = Cluster::open(&urls, PATIENT).unwrap().node();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let key = clustered.key_at(0);
        let slot = clustered.slot(&key).to_string();
        clustered.order::<()>(1, &["SETSLOT", &slot, "IMPORTING", &clustered.id(0)]);
        clustered.order::<()>(0, &["SETSLOT", &slot, "MIGRATING", &clustered.id(1)]);
        for key in [key, clustered.key_at(1), clustered.key_at(2)] {
            let guard = lock.acquire(&key, &WAITING).await.unwrap();
            assert!(guard.extend().await.is_ok());
            assert_eq!(guard.release().await.deleted, 1);
        }
    });
}

#[test]
fn when_nobody_uses_the_cluster_any_more_no_connection_stays() {
    let _turn = beside();
    let clustered = Clustered::start();
    let ours = || {
        let count = |server: &Process| {
            let clients: String = server.query(cmd("CLIENT").arg("LIST"));
            clients
                .lines()
                .filter(|line| {
                    line.contains("cmd=hello") || line.contains("cmd=cluster|nodes") || line.contains("cmd=evalsha")
                })
                .count()
        };
        clustered.servers.iter().map(count).sum::<usize>()
    };
    runtime().block_on(async {
        let before = ours();
        let nodes = open(&clustered).await;
        let lock = Lock::single(&nodes, 0, 1);
        drop(nodes);
        let until = async |expected: usize| {
            while ours() != expected {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TEST_TIMEOUT, until(before + 4))
            .await
            .expect("one for each master, and one that is asked");
        lock.acquire("k", &OPTIONS).await.unwrap().release().await;
        drop(lock);
        timeout(TEST_TIMEOUT, until(before)).await.expect("none is left");
    });
}

#[test]
fn nobody_overlaps_in_a_healthy_cluster_and_no_key_is_left() {
    const TASKS: usize = 8;
    const KEYS: usize = 6;
    const CYCLES: usize = 2000;
    let _turn = beside();
    let clustered = Clustered::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let busy: Arc<[AtomicBool; KEYS]> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        // Each is an app server of its own.
        let servers = [open(&clustered).await, open(&clustered).await];
        let locks: Vec<_> = servers.iter().map(|nodes| Lock::single(nodes, 0, 1)).collect();
        let work = |task: usize| {
            let (lock, busy, done) = (locks[task % 2].clone(), Arc::clone(&busy), Arc::clone(&done));
            async move {
                while done.fetch_add(1, SeqCst) < CYCLES {
                    let key = (done.load(SeqCst) + task) % KEYS;
                    let guard = lock.acquire(&format!("key:{key}"), &WAITING).await.unwrap();
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
    assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
}
