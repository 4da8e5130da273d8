//! Locks on a cluster, on real servers.

use std::time::Duration;

use crate::kit::cluster::Clustered;
use crate::kit::moving::{PATIENT, assert_typed, extended, nobody_overlaps, reach};
use crate::kit::sentinel::PASSWORD;
use crate::kit::trio::{OPTIONS, QUEUE, RENEWED, no_quorum};
use crate::kit::{RedisServer, TEST_TIMEOUT, eventually, in_time, until};
use lockstorm_lock::WaitReplicas;
use lockstorm_lock::{Cause, CauseKind, Cluster, Lock, NodeAddress, NodeOptions, Nodes, Refusal};
use redis::cmd;
use tokio::time::sleep;

const MASTERS: [usize; 3] = [0, 1, 2];

/// The whole cluster as one node, connected, and a lock there.
async fn open(clustered: &Clustered) -> (Nodes, Lock) {
    open_with(clustered, PATIENT).await
}

async fn open_with(clustered: &Clustered, options: NodeOptions) -> (Nodes, Lock) {
    let nodes = Cluster::open(&clustered.urls(), options).unwrap().node();
    assert_eq!((nodes.ready(TEST_TIMEOUT).await, nodes.len()), (1, 1));
    let lock = Lock::single(&nodes, 0, 1);
    (nodes, lock)
}

/// Everything is done, and these servers, the masters, have no keys.
async fn nothing_is_left(nodes: &Nodes, clustered: &Clustered, masters: &[usize; 3]) {
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, nodes.len());
    assert_eq!(clustered.keys(masters), [0, 0, 0]);
}

async fn is_contended(lock: &Lock, key: &str) {
    assert_eq!(lock.acquire(key, &OPTIONS).await.unwrap_err(), Refusal::Contended);
}

/// Another key of the same slot; `key` has no tag.
fn neighbour(key: &str) -> String {
    format!("beside:{{{key}}}")
}

/// One more.
fn beyond(key: &str) -> String {
    format!("beyond:{{{key}}}")
}

#[tokio::test]
async fn a_node_that_belongs_to_no_cluster_leads_nobody_astray() {
    let clustered = Clustered::start();
    let blank = RedisServer::configured(PASSWORD, "cluster-enabled yes\n", &[]);
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
}

#[tokio::test]
async fn a_master_that_the_others_have_lost_and_that_answers_still_is_left() {
    let clustered = Clustered::start();
    // The first address, so it is the one that is asked.
    let (_nodes, lock) = open(&clustered).await;
    let key = clustered.key_at(0);
    reach(&lock, &key, &clustered.servers[0]).await;

    // It hears nothing of the others any more, and goes on to say that it has its slots.
    for other in 1..clustered.servers.len() {
        clustered.order::<()>(0, &["FORGET", &clustered.id(other)]);
    }
    clustered.order::<()>(3, &["FAILOVER", "TAKEOVER"]);
    assert_typed(&reach(&lock, &key, &clustered.servers[3]).await, &[]);
    let old = clustered.order::<String>(0, &["NODES"]);
    assert!(old.lines().count() == 1 && old.contains("myself,master"), "{old}");
}

#[tokio::test]
async fn every_key_is_at_its_owner_without_a_detour_and_gone_after_its_release() {
    const LOCKS: usize = 300;
    let clustered = Clustered::start();
    let (nodes, lock) = open(&clustered).await;
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
    is_contended(&lock, &name(7)).await;
    for guard in &guards {
        assert!(guard.extend().await.is_ok());
    }
    let last = guards.pop().unwrap();
    assert_eq!(last.release().await.deleted, 1);
    drop(guards);
    nothing_is_left(&nodes, &clustered, &MASTERS).await;
    // No command was sent twice, so none was for a key that its node does not have: our slots are those of the servers.
    let sent = lock.gauges().sent(0);
    assert_eq!(
        (sent.sets, sent.extends, sent.deletes),
        (LOCKS as u64 + 1, LOCKS as u64, LOCKS as u64)
    );
}

#[tokio::test]
async fn locks_are_renewed_waited_for_and_lost_with_a_signal() {
    let clustered = Clustered::start();
    let ((here, lock), (there, other)) = (open(&clustered).await, open(&clustered).await);
    let brief = QUEUE
        .ttl(Duration::from_secs(2))
        .renew_every(Duration::from_millis(200));
    let on = async |master: usize| {
        let key = clustered.key_at(master);
        let held = lock.acquire(&key, &brief).await.unwrap();
        let waits = tokio::spawn({
            let (other, key) = (other.clone(), key.clone());
            async move { other.acquire(&key, &QUEUE).await }
        });
        sleep(Duration::from_millis(2500)).await;
        assert!(!held.is_lost() && !waits.is_finished());
        held.release().await;
        let next = waits.await.unwrap().expect("it is its turn");
        next.release().await;
        let held = lock.acquire(&key, &RENEWED).await.unwrap();
        clustered.servers[master].query::<()>(&cmd("FLUSHALL"));
        in_time("the renewal finds no key", held.lost()).await;
        held.release().await;
    };
    tokio::join!(on(0), on(1), on(2));
    for nodes in [here, there] {
        nothing_is_left(&nodes, &clustered, &MASTERS).await;
    }
}

#[tokio::test]
async fn a_waiter_hears_of_a_release_wherever_it_listens() {
    let clustered = Clustered::start();
    let ((_, lock), (_, other)) = (open(&clustered).await, open(&clustered).await);
    let key = clustered.key_at(1);
    let held = lock.acquire(&key, &QUEUE).await.unwrap();
    let waits = tokio::spawn({
        let (other, key) = (other.clone(), key.clone());
        async move { other.acquire(&key, &QUEUE).await }
    });
    let channel = format!("lockstorm:released:{key}");
    let listens = |server: &RedisServer| {
        let count: (String, usize) = server.query(cmd("PUBSUB").arg("NUMSUB").arg(&channel));
        count.1 > 0
    };
    until("the waiter listens", async || clustered.servers.iter().any(listens)).await;
    held.release().await;
    waits.await.unwrap().unwrap().release().await;
}

#[tokio::test]
async fn a_slot_on_its_way_is_followed_without_the_loss_of_a_lock() {
    let clustered = Clustered::start();
    let (nodes, lock) = open(&clustered).await;
    let key = clustered.key_at(0);
    let (slot, new) = (clustered.slot(&key).to_string(), neighbour(&key));
    let (from, to) = (clustered.id(0), clustered.id(1));
    let held = lock.acquire(&key, &RENEWED).await.unwrap();
    clustered.order::<()>(1, &["SETSLOT", &slot, "IMPORTING", &from]);
    clustered.order::<()>(0, &["SETSLOT", &slot, "MIGRATING", &to]);
    // New keys of the slot are at the new owner already, and the old ones are still at the old one.
    let second = lock.acquire(&new, &RENEWED).await.unwrap();
    assert_eq!(
        (clustered.servers[0].names(), clustered.servers[1].names()),
        (vec![key.clone()], vec![new.clone()])
    );
    is_contended(&lock, &new).await;
    is_contended(&lock, &key).await;
    assert!(held.extend().await.is_ok() && second.extend().await.is_ok());
    let third = lock.acquire(&beyond(&key), &OPTIONS).await.unwrap();
    assert_eq!(third.release().await.deleted, 1);
    let port = clustered.servers[1].port().to_string();
    let migrate = ["127.0.0.1", &port, &key, "0", "5000", "AUTH", PASSWORD];
    let moved: String = clustered.servers[0].query(cmd("MIGRATE").arg(&migrate));
    assert_eq!(moved, "OK");
    is_contended(&lock, &key).await;
    assert!(held.extend().await.is_ok());
    for server in [1, 0, 2] {
        clustered.order::<()>(server, &["SETSLOT", &slot, "NODE", &to]);
    }
    is_contended(&lock, &key).await;
    assert!(held.extend().await.is_ok() && !held.is_lost() && !second.is_lost());
    assert_eq!((held.release().await.deleted, second.release().await.deleted), (1, 1));
    lock.acquire(&key, &OPTIONS).await.unwrap().release().await;
    nothing_is_left(&nodes, &clustered, &MASTERS).await;
}

#[tokio::test]
async fn the_death_of_a_master_is_followed_with_its_locks_and_what_was_owed_is_deleted_at_its_replica() {
    let mut clustered = Clustered::start();
    let (nodes, lock) = open(&clustered).await;
    let key = clustered.key_at(0);
    let (slot, other) = (clustered.slot(&key), neighbour(&key));
    let held = lock.acquire(&key, &RENEWED).await.unwrap();
    let dropped = lock.acquire(&other, &OPTIONS).await.unwrap();
    let elsewhere = lock.acquire(&clustered.key_at(1), &RENEWED).await.unwrap();
    clustered.servers[0].query::<usize>(cmd("WAIT").arg(1).arg(5000));
    eventually("the replica has both", || clustered.servers[3].keys() == 2);
    clustered.servers[0].kill();
    drop(dropped);
    let causes = reach(&lock, &beyond(&key), &clustered.servers[3]).await;
    assert_typed(&causes, &[CauseKind::Moved]);
    assert!(!causes.is_empty());
    is_contended(&lock, &key).await;
    extended(&held).await;
    extended(&elsewhere).await;
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(clustered.servers[3].names(), std::slice::from_ref(&key));
    // The old master comes back as a replica, and does not lead back.
    clustered.servers[0].restart();
    clustered.until_owner(slot, 3);
    is_contended(&lock, &key).await;
    assert_eq!(
        (held.release().await.deleted, elsewhere.release().await.deleted),
        (1, 1)
    );
    nothing_is_left(&nodes, &clustered, &[3, 1, 2]).await;
}

#[tokio::test]
async fn a_stopped_master_is_left_although_its_connection_lasts() {
    let clustered = Clustered::start();
    let options = PATIENT.node_timeout(Duration::from_millis(200));
    let (nodes, lock) = open_with(&clustered, options).await;
    let key = clustered.key_at(2);
    let held = lock.acquire(&key, &RENEWED).await.unwrap();
    eventually("the replica has it", || clustered.servers[5].keys() == 1);
    clustered.servers[2].pause();
    let causes = reach(&lock, &neighbour(&key), &clustered.servers[5]).await;
    assert_typed(&causes, &[CauseKind::Moved]);
    clustered.servers[2].resume();
    clustered.until_owner(clustered.slot(&key), 5);
    extended(&held).await;
    is_contended(&lock, &key).await;
    held.release().await;
    nothing_is_left(&nodes, &clustered, &[0, 1, 5]).await;
}

#[tokio::test]
async fn an_ordered_failover_is_followed_and_held_locks_stay_held() {
    let clustered = Clustered::start();
    let (nodes, lock) = open(&clustered).await;
    let key = clustered.key_at(1);
    let held = lock.acquire(&key, &RENEWED).await.unwrap();
    clustered.order::<()>(4, &["FAILOVER"]);
    let causes = reach(&lock, &neighbour(&key), &clustered.servers[4]).await;
    assert_typed(&causes, &[CauseKind::Moved]);
    extended(&held).await;
    is_contended(&lock, &key).await;
    assert_eq!(held.release().await.deleted, 1);
    nothing_is_left(&nodes, &clustered, &[0, 4, 2]).await;
}

#[tokio::test]
async fn an_incomplete_cluster_is_not_ready_and_the_slots_without_a_master_are_told() {
    let mut clustered = Clustered::start();
    let (nodes, lock) = open(&clustered).await;
    let (dead, alive) = (clustered.key_at(0), clustered.key_at(1));
    for server in [3, 0] {
        clustered.servers[server].kill();
    }
    until("the cluster is down", async || {
        let refusal = lock.acquire(&alive, &OPTIONS).await.err();
        match refusal.as_ref().map_or(&[][..], Refusal::causes) {
            [] => false,
            [Some(Cause::NotReady(text))] if text.starts_with("CLUSTERDOWN") => true,
            other => panic!("{other:?}"),
        }
    })
    .await;
    let refusal = lock.acquire(&dead, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::Refused)]));
    clustered.servers[0].restart();
    reach(&lock, &dead, &clustered.servers[0]).await;
    reach(&lock, &alive, &clustered.servers[1]).await;
    nothing_is_left(&nodes, &clustered, &MASTERS).await;
}

#[tokio::test]
async fn the_replica_of_the_owner_confirms_a_vote_or_it_is_undone() {
    let clustered = Clustered::start();
    let options = PATIENT.wait_replicas(WaitReplicas::new(1, Duration::from_millis(500)));
    let (nodes, lock) = open_with(&clustered, options).await;
    let key = clustered.key_at(1);
    let held = lock.acquire(&key, &OPTIONS).await.unwrap();
    // It may still wait in the replica's memory to be applied.
    eventually("the replica has it", || clustered.servers[4].names() == [key.clone()]);
    clustered.servers[4].pause();
    let refusal = lock.acquire(&neighbour(&key), &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::Unreplicated { replicas: 0, of: 1 })]));
    let other = clustered.key_at(2);
    lock.acquire(&other, &OPTIONS).await.unwrap().release().await;
    assert_eq!(held.release().await.deleted, 1);
    nothing_is_left(&nodes, &clustered, &MASTERS).await;
    clustered.servers[4].resume();
}

#[tokio::test]
async fn its_masters_are_no_quorum_and_say_that_the_key_is_elsewhere() {
    let clustered = Clustered::start();
    let nodes = Nodes::open(&clustered.urls()[..3], PATIENT).unwrap();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
    let lock = Lock::redlock(&nodes, 1);
    for master in MASTERS {
        let refusal = lock.acquire(&clustered.key_at(master), &OPTIONS).await.unwrap_err();
        let mut causes = vec![Some(Cause::Moved); 3];
        causes[master] = None;
        assert_eq!(refusal, Refusal::NoQuorum { causes });
    }
    nothing_is_left(&nodes, &clustered, &MASTERS).await;
    assert!(clustered.moved(&MASTERS) >= 6);
}

#[tokio::test]
async fn what_is_not_a_cluster_or_denies_it_is_told() {
    let server = RedisServer::start();
    let clustered = Clustered::start();
    let urls = clustered.urls();
    let told = async |nodes: &Nodes, expected: &dyn Fn(Refusal) -> bool| {
        let lock = Lock::single(nodes, 0, 1);
        until("it is told", async || {
            lock.acquire("k", &OPTIONS).await.is_err_and(expected)
        })
        .await;
        assert_eq!(nodes.ready(Duration::ZERO).await, 0);
    };
    let plain = Cluster::at(&[server.addr().into()], PATIENT).node();
    told(&plain, &|refusal| {
        matches!(refusal, Refusal::NoQuorum { causes }
                if matches!(&causes[..], [Some(Cause::Error(text))] if text.contains("cluster support disabled")))
    })
    .await;
    assert_eq!(server.calls("set"), 0);
    let nowhere = Cluster::at(&[], PATIENT).node();
    told(&nowhere, &|refusal| refusal == no_quorum([Some(Cause::NoMaster)])).await;
    let wrong: Vec<_> = urls.iter().map(|url| url.replace(PASSWORD, "wrong")).collect();
    let wrong = Cluster::open(&wrong, PATIENT).unwrap().node();
    told(&wrong, &|refusal| matches!(refusal, Refusal::NotPermitted { .. })).await;
    // One node that answers is enough.
    let dead = NodeAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
    let one = NodeAddress::parse(&urls[4]).unwrap();
    let found = Cluster::at(&[one, dead], PATIENT).node();
    assert_eq!(found.ready(TEST_TIMEOUT).await, 1);
    let guard = Lock::single(&found, 0, 1).acquire("k", &OPTIONS).await.unwrap();
    guard.release().await;
}

#[tokio::test]
async fn a_user_with_the_documented_permissions_is_enough() {
    let clustered = Clustered::start();
    let rules = "~* resetchannels &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha \
                 +script|load +publish +subscribe +unsubscribe +ping +cluster|slots +cluster|nodes +asking";
    for server in &clustered.servers {
        server.add_user(rules);
    }
    let user = |url: &String| url.replace(&format!(":{PASSWORD}"), "locks:secret");
    let urls: Vec<_> = clustered.urls().iter().map(user).collect();
    let nodes = Cluster::open(&urls, PATIENT).unwrap().node();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let lock = Lock::single(&nodes, 0, 1);
    let key = clustered.key_at(0);
    let slot = clustered.slot(&key).to_string();
    clustered.order::<()>(1, &["SETSLOT", &slot, "IMPORTING", &clustered.id(0)]);
    clustered.order::<()>(0, &["SETSLOT", &slot, "MIGRATING", &clustered.id(1)]);
    for key in [key, clustered.key_at(1), clustered.key_at(2)] {
        let guard = lock.acquire(&key, &QUEUE).await.unwrap();
        assert!(guard.extend().await.is_ok());
        assert_eq!(guard.release().await.deleted, 1);
    }
}

#[tokio::test]
async fn when_nobody_uses_the_cluster_any_more_no_connection_stays() {
    let clustered = Clustered::start();
    let ours = || {
        let is_ours = |line: &&str| {
            let commands = ["hello", "cluster|nodes", "evalsha"];
            commands.iter().any(|command| line.contains(&format!("cmd={command}")))
        };
        let count = |server: &RedisServer| {
            let clients: String = server.query(cmd("CLIENT").arg("LIST"));
            clients.lines().filter(is_ours).count()
        };
        clustered.servers.iter().map(count).sum::<usize>()
    };
    let before = ours();
    let (nodes, lock) = open(&clustered).await;
    drop(nodes);
    let each = "one for each master, and one that is asked";
    until(each, async || ours() == before + 4).await;
    lock.acquire("k", &OPTIONS).await.unwrap().release().await;
    drop(lock);
    until("none is left", async || ours() == before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_overlaps_in_a_healthy_cluster_and_no_key_is_left() {
    let clustered = Clustered::start();
    // Each is an app server of its own.
    nobody_overlaps::<6>([open(&clustered).await.0, open(&clustered).await.0]).await;
    assert_eq!(clustered.keys(&MASTERS), [0, 0, 0]);
}
