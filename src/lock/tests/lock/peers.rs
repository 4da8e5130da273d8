//! Mistakes of other lock clients, and wishes of their users, a test for each, on real servers.

use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{fs, thread};

use crate::kit::intermediary::Intermediary;
use crate::kit::trio::{IMPATIENT, KEY, OPTIONS, RETRY, Trio, app_server, keys_of};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually};
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeOptions, Nodes, NotExtended, Refusal};
use lockstorm_lock::{Cause, Outcome, Wait};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

const QUEUE: AcquireOptions = AcquireOptions {
    wait: Wait::Queue,
    ..OPTIONS
};

fn config(server: &RedisServer, setting: &str, value: &str) {
    let _: () = server.query(redis::cmd("CONFIG").arg("SET").arg(setting).arg(value));
}

/// Puts somebody else's lock on the server.
fn occupy(server: &RedisServer) {
    let _: () = server.query(redis::cmd("SET").arg(KEY).arg("somebody else"));
}

/// 64 tasks acquire and release, each its own key, `cycles` times each. All must succeed.
async fn load(lock: &Lock, cycles: usize, options: AcquireOptions) {
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let lock = lock.clone();
        tasks.spawn(async move {
            let key = format!("load:{task}");
            for _ in 0..cycles {
                let guard = lock.acquire(&key, &options).await.unwrap();
                assert!(!guard.is_lost());
                guard.release().await;
            }
        });
    }
    join(tasks).await;
}

async fn join(mut tasks: JoinSet<()>) {
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
}

/// A lock with all three votes.
fn acquire_all(trio: &Trio, lock: &Lock, options: &AcquireOptions) -> Guard {
    let guard = trio.acquire(lock, options).unwrap();
    trio.until("all three voted", async || guard.votes() == 3);
    guard
}

/// Waits until every node votes for a new lock.
fn until_all_vote(trio: &Trio, lock: &Lock) {
    trio.until("all nodes vote", async || {
        let Ok(guard) = lock.acquire("vote", &IMPATIENT).await else {
            return false;
        };
        // The third vote comes at once or, if that node was not asked, never.
        sleep(Duration::from_millis(20)).await;
        let votes = guard.votes();
        guard.release().await;
        votes == 3
    });
}

/// Whether node `index` is not asked any more because it owes replies.
async fn is_suspect(nodes: &Nodes, index: usize) -> bool {
    let causes = vec![Some(Cause::Suspect)];
    Lock::single(nodes, index, 1).acquire("suspect", &IMPATIENT).await.err() == Some(Refusal::NoQuorum { causes })
}

// Nodes that hang.

#[test]
fn a_node_that_hangs_from_the_start_holds_up_nobody() {
    let _turn = beside();
    let mut trio = Trio::start();
    trio.servers[1].pause();
    let addrs: Vec<_> = trio.servers.iter().map(RedisServer::addr).collect();
    trio.nodes = trio
        .runtime
        .block_on(async { Nodes::connect(&addrs, NodeOptions::default()) });
    trio.until("two are connected", async || {
        trio.nodes.ready(Duration::ZERO).await >= 2
    });
    // A client that waits for the connection in each acquire gets one lock a second.
    let lock = trio.redlock();
    trio.runtime.block_on(async {
        timeout(TEST_TIMEOUT, load(&lock, 16, IMPATIENT))
            .await
            .expect("far more than one a second");
    });
    trio.servers[1].resume();
    until_all_vote(&trio, &lock);
    trio.no_keys();
}

#[test]
fn with_a_ttl_of_400_ms_and_a_paused_node_every_lock_is_acquired() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    trio.servers[2].pause();
    let options = AcquireOptions {
        ttl: Duration::from_millis(400),
        reply_timeout: Some(Duration::from_millis(100)),
        // Allows for a machine that stops for longer than that; if a node were waited for, all acquires would fail.
        wait: Wait::Retry {
            retries: 3,
            delay: Duration::from_millis(50),
            jitter: Duration::ZERO,
        },
        ..OPTIONS
    };
    trio.runtime.block_on(load(&lock, 7, options));
    trio.servers[2].resume();
    trio.no_keys();
}

#[test]
fn no_lock_is_handed_out_by_nodes_that_were_paused_for_longer_than_its_ttl() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    // With the patience of a caller who does not know better.
    let options = AcquireOptions {
        ttl: Duration::from_secs(1),
        reply_timeout: Some(TEST_TIMEOUT),
        ..OPTIONS
    };
    trio.servers.iter().for_each(RedisServer::pause);
    trio.runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for task in 0..16 {
            let lock = lock.clone();
            tasks.spawn(async move {
                let refusal = lock.acquire(&format!("late:{task}"), &options).await.unwrap_err();
                assert!(
                    matches!(refusal.outcome(), Outcome::Expired | Outcome::Unknown),
                    "{refusal:?}"
                );
            });
        }
        sleep(options.ttl * 2).await;
        trio.servers.iter().for_each(RedisServer::resume);
        join(tasks).await;
    });
    trio.no_keys();
}

#[test]
fn a_release_waits_for_no_node_that_hangs() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let patient = AcquireOptions {
        reply_timeout: Some(TEST_TIMEOUT),
        ..OPTIONS
    };
    let guard = acquire_all(&trio, &lock, &patient);
    trio.servers[0].pause();
    let released = trio
        .runtime
        .block_on(async { timeout(TEST_TIMEOUT / 2, guard.release()).await.expect("two confirmed") });
    assert_eq!((released.deleted, released.gone, released.unconfirmed), (2, 0, 1));
    trio.servers[0].resume();
    trio.no_keys();

    let guard = acquire_all(&trio, &lock, &IMPATIENT);
    trio.servers.iter().for_each(RedisServer::pause);
    let released = trio.runtime.block_on(async {
        timeout(TEST_TIMEOUT, guard.release())
            .await
            .expect("bounded by the node timeout")
    });
    assert_eq!((released.deleted, released.gone, released.unconfirmed), (0, 0, 3));
    trio.servers.iter().for_each(RedisServer::resume);
    trio.no_keys();
}

#[test]
fn releasing_a_lock_that_expired_ends_and_says_that_it_was_gone() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let short = AcquireOptions {
        ttl: Duration::from_millis(300),
        ..IMPATIENT
    };
    for nodes_hang in [false, true] {
        let guard = acquire_all(&trio, &lock, &short);
        trio.runtime.block_on(guard.lost());
        if nodes_hang {
            trio.servers.iter().for_each(RedisServer::pause);
        } else {
            eventually("all keys expired", || keys_of(&trio.servers) == [0, 0, 0]);
        }
        let released = trio
            .runtime
            .block_on(async { timeout(TEST_TIMEOUT, guard.release()).await.expect("it ends") });
        assert_eq!(released.deleted, 0);
        assert!(nodes_hang || released.gone >= 2, "{released:?}");
        trio.servers.iter().for_each(RedisServer::resume);
    }
    trio.no_keys();
}

#[test]
fn a_mere_timeout_closes_no_connection() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let clients = || -> Vec<String> {
        let list: String = trio.servers[0].query(redis::cmd("CLIENT").arg("LIST"));
        let mut ids: Vec<_> = list
            .lines()
            .filter_map(|line| line.split(' ').next().map(String::from))
            .collect();
        // The last one is the connection of this question.
        ids.pop();
        ids
    };
    let before = clients();
    assert_eq!(before.len(), 1);
    trio.servers[0].pause();
    trio.runtime.block_on(load(&lock, 4, IMPATIENT));
    trio.until("the node is suspect", async || is_suspect(&trio.nodes, 0).await);
    trio.servers[0].resume();
    trio.no_keys();
    assert_eq!(clients(), before);
}

#[test]
fn memory_stays_flat_while_a_node_is_paused_under_load() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    trio.servers[1].pause();
    let resident = || -> usize {
        let Ok(status) = fs::read_to_string("/proc/self/status") else {
            return 0; // not Linux: the load is still there
        };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    trio.until("the node is suspect", async || {
        load(&lock, 10, IMPATIENT).await;
        is_suspect(&trio.nodes, 1).await
    });
    let (before, attempts) = (resident(), lock.gauges().attempts());
    // In a queue these cycles would leave a SET and a delete each, which is more than 12 MiB.
    trio.runtime.block_on(load(&lock, 1000, IMPATIENT));
    let grown = resident().saturating_sub(before);
    assert!(lock.gauges().attempts() - attempts >= 64 * 1000);
    assert!(grown < 6 << 10, "{grown} KiB more");
    trio.servers[1].resume();
    trio.no_keys();
}

#[test]
fn a_node_that_comes_back_is_used_again() {
    let _turn = beside();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    let guard = acquire_all(&trio, &lock, &OPTIONS);
    trio.runtime.block_on(guard.release());
    for index in 0..3 {
        trio.servers[index].pause();
        trio.runtime.block_on(load(&lock, 4, IMPATIENT));
        trio.servers[index].resume();
        until_all_vote(&trio, &lock);
        trio.kill(index);
        trio.runtime.block_on(load(&lock, 4, IMPATIENT));
        trio.servers[index].restart();
        until_all_vote(&trio, &lock);
    }
    trio.no_keys();
}

// Nodes that refuse.

#[test]
fn a_node_that_answers_with_an_error_costs_its_vote_and_not_the_lock() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    config(&trio.servers[0], "min-replicas-to-write", "1");
    let guard = trio.acquire(&lock, &OPTIONS).unwrap();
    // A release before node 1 has refused would send a delete to it too, since it might have voted.
    trio.until("all have answered", async || guard.late_votes().known() == Some(2));
    let released = trio.runtime.block_on(guard.release());
    assert_eq!((released.deleted, released.gone), (2, 0));

    config(&trio.servers[1], "maxmemory", "1");
    let refusal = trio.acquire(&lock, &OPTIONS).unwrap_err();
    let Refusal::NoQuorum { causes } = &refusal else {
        panic!("{refusal:?}")
    };
    let (Some(Cause::NotReady(not_ready)), Some(Cause::Error(full)), None) = (&causes[0], &causes[1], &causes[2])
    else {
        panic!("{causes:?}")
    };
    assert!(
        not_ready.starts_with("NOREPLICAS") && full.starts_with("OOM"),
        "{causes:?}"
    );
    config(&trio.servers[0], "min-replicas-to-write", "0");
    config(&trio.servers[1], "maxmemory", "0");
    trio.no_keys();
}

#[test]
fn an_error_that_something_in_between_made_is_unknown_and_the_key_is_taken_back() {
    let _turn = beside();
    let server = RedisServer::start();
    let between = Intermediary::start(server.addr());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let nodes = Nodes::connect(&[between.addr], NodeOptions::default());
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
        let lock = Lock::single(&nodes, 0, 1);
        let error = "ERR upstream failure";
        between.answer_next(error);
        let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
        let causes = vec![Some(Cause::Error(error.into()))];
        assert_eq!(refusal, Refusal::Unknown { causes });
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
        assert_eq!((server.keys(), server.calls("set")), (0, 1));
        lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    });
}

#[test]
fn a_node_of_a_cluster_gives_no_vote_for_keys_of_other_nodes() {
    let _turn = beside();
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let other = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let _: () = server.query(redis::cmd("CLUSTER").arg(&["ADDSLOTSRANGE", "0", "8191"]));
    let _: () = other.query(redis::cmd("CLUSTER").arg(&["ADDSLOTSRANGE", "8192", "16383"]));
    let slot: u16 = server.query(redis::cmd("CLUSTER").arg(&["KEYSLOT", KEY]));
    let (owner, stranger) = if slot < 8192 {
        (&server, &other)
    } else {
        (&other, &server)
    };
    let meet = ["MEET", "127.0.0.1", &owner.port().to_string()].map(str::to_owned);
    let _: () = stranger.query(redis::cmd("CLUSTER").arg(&meet));
    for server in [owner, stranger] {
        eventually("the cluster is complete", || {
            let info: String = server.query(redis::cmd("CLUSTER").arg("INFO"));
            info.contains("cluster_state:ok")
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let nodes = Nodes::connect(&[owner.addr(), stranger.addr()], NodeOptions::default());
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 2);
        let refusal = Lock::single(&nodes, 1, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
        let causes = vec![Some(Cause::Moved)];
        assert_eq!(refusal, Refusal::NoQuorum { causes });
        let refusal = Lock::redlock(&nodes, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
        let causes = vec![None, Some(Cause::Moved)];
        assert_eq!(refusal, Refusal::NoQuorum { causes });
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 2);
        assert_eq!((owner.keys(), stranger.keys(), stranger.calls("evalsha")), (0, 0, 0));
    });
}

#[test]
fn without_a_quorum_the_answer_comes_long_before_the_deadline_and_nothing_stays_on_the_survivor() {
    let _turn = beside();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    trio.kill(0);
    trio.kill(2);
    let start = Instant::now();
    let retries = Wait::Retry {
        retries: 2,
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(10),
    };
    for wait in [Wait::FailFast, retries] {
        for _ in 0..50 {
            let refusal = trio.acquire(&lock, &AcquireOptions { wait, ..OPTIONS }).unwrap_err();
            let causes = vec![Some(Cause::Refused), None, Some(Cause::Refused)];
            assert_eq!(refusal, Refusal::NoQuorum { causes });
        }
    }
    assert!(start.elapsed() < OPTIONS.timeout, "{:?}", start.elapsed());
    let survivor = trio.nodes.subset(&[1]);
    assert_eq!(trio.runtime.block_on(survivor.flush(TEST_TIMEOUT)), 1);
    assert_eq!(trio.servers[1].keys(), 0);
}

#[test]
fn contention_and_an_outage_give_different_refusals() {
    let _turn = beside();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    let outcome = |trio: &Trio| trio.acquire(&lock, &OPTIONS).unwrap_err().outcome();
    occupy(&trio.servers[0]);
    occupy(&trio.servers[1]);
    assert_eq!(outcome(&trio), Outcome::Contended);
    // With one node down, the others still report that somebody holds the lock.
    trio.kill(2);
    assert_eq!(outcome(&trio), Outcome::Contended);
    // With two nodes down, nobody can hold the lock or get it.
    trio.kill(0);
    assert_eq!(outcome(&trio), Outcome::NoQuorum);
    let causes = vec![Some(Cause::Refused), Some(Cause::Held), Some(Cause::Refused)];
    assert_eq!(trio.acquire(&lock, &OPTIONS).unwrap_err(), Refusal::NoQuorum { causes });
}

// What a lock leaves behind.

#[test]
fn failing_fast_leaves_nothing_behind_on_healthy_nodes() {
    let _turn = beside();
    let trio = Trio::start();
    let (other_runtime, other_nodes) = app_server(&trio.servers);
    let rush = async |nodes: &Nodes| {
        let lock = Lock::redlock(nodes, 1);
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let lock = lock.clone();
            tasks.spawn(async move {
                for round in 0..20 {
                    // Each key has a few contenders from both app servers at a time.
                    match lock.acquire(&format!("rush:{}", (task + round) % 8), &OPTIONS).await {
                        Ok(guard) => drop(guard.release().await),
                        Err(refusal) => assert_eq!(refusal, Refusal::Contended),
                    }
                }
            });
        }
        join(tasks).await;
        // After this the background work is done, and nothing is left to wait for.
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
    };
    thread::scope(|scope| {
        scope.spawn(|| other_runtime.block_on(rush(&other_nodes)));
        trio.runtime.block_on(rush(&trio.nodes));
    });
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
}

/// Polls `future` for this many turns of the scheduler, then drops it.
async fn give_up_after<F: Future>(turns: u32, future: F) -> Option<F::Output> {
    let over = async {
        for _ in 0..turns {
            yield_now().await;
        }
    };
    tokio::select! {
        biased;
        output = future => Some(output),
        () = over => None,
    }
}

/// Thousands of acquires and releases that are dropped at any point; returns the number of acquires.
async fn fickle(lock: &Lock, seed: u64) -> usize {
    let given_up = Arc::new(Mutex::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let (lock, given_up) = (lock.clone(), Arc::clone(&given_up));
        let mut rng = StdRng::seed_from_u64(seed + task);
        tasks.spawn(async move {
            for _ in 0..50 {
                let wait = [Wait::FailFast, RETRY, Wait::Queue][rng.random_range(0..3)];
                let key = format!("fickle:{}", rng.random_range(0..16));
                let options = AcquireOptions { wait, ..IMPATIENT };
                match give_up_after(rng.random_range(0..200), lock.acquire(&key, &options)).await {
                    None => *given_up.lock().unwrap() += 1,
                    Some(Ok(guard)) if rng.random() => drop(guard),
                    Some(Ok(guard)) => drop(give_up_after(rng.random_range(0..20), guard.release()).await),
                    // Mostly contended.
                    Some(Err(_)) => yield_now().await,
                }
            }
        });
    }
    join(tasks).await;
    *given_up.lock().unwrap()
}

#[test]
fn futures_dropped_wherever_they_are_leave_nothing_behind() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let (given_up, healthy) = trio.runtime.block_on(async {
        let given_up = fickle(&lock, 1).await;
        (given_up, trio.nodes.flush(TEST_TIMEOUT).await)
    });
    assert!((100..3150).contains(&given_up), "{given_up} of 3200");
    assert_eq!(healthy, 3);
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));

    trio.servers[1].pause();
    assert!(trio.runtime.block_on(fickle(&lock, 2)) > 100);
    trio.servers[1].resume();
    trio.no_keys();
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));
}

#[test]
fn a_set_is_sent_once_for_each_attempt_and_to_each_node() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    for _ in 0..20 {
        let guard = acquire_all(&trio, &lock, &OPTIONS);
        trio.runtime.block_on(guard.release());
    }
    for server in &trio.servers {
        assert_eq!(server.calls("set"), lock.gauges().attempts());
    }
    // No other failure repeats a SET either: neither contention nor a node without answers.
    trio.servers.iter().for_each(occupy);
    trio.acquire(&lock, &OPTIONS).unwrap_err();
    trio.servers[0].pause();
    trio.acquire(&lock, &IMPATIENT).unwrap_err();
    trio.servers[0].resume();
    trio.until("all have run it", async || trio.nodes.flush(TEST_TIMEOUT).await == 3);
    let most = lock.gauges().attempts() + 1; // ours, that occupied the key
    for server in &trio.servers {
        assert!(server.calls("set") <= most, "{} of {most}", server.calls("set"));
    }
}

#[test]
fn nothing_is_deleted_without_checking_its_owner() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    // Two votes and a key of somebody else; then one vote, which is taken back, and two keys of somebody else.
    occupy(&trio.servers[0]);
    let guard = trio.acquire(&lock, &OPTIONS).unwrap();
    trio.until("all have answered", async || guard.late_votes().known() == Some(2));
    trio.runtime.block_on(guard.release());
    occupy(&trio.servers[1]);
    assert_eq!(trio.acquire(&lock, &OPTIONS).unwrap_err(), Refusal::Contended);
    // A lock that somebody else took over while its holder was busy.
    let lost = trio.runtime.block_on(lock.acquire("other", &OPTIONS)).unwrap();
    trio.until("all three voted", async || lost.votes() == 3);
    for server in &trio.servers {
        let _: () = server.query(redis::cmd("SET").arg("other").arg("somebody else"));
    }
    let released = trio.runtime.block_on(lost.release());
    assert_eq!(released.deleted, 0);
    assert!(released.gone >= 2, "{released:?}");
    trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT));
    assert_eq!(keys_of(&trio.servers), [2, 2, 1]);
    for server in &trio.servers {
        // Every DEL came from a script that checked the owner first, and not every script found its own key.
        let looked = server.calls("eval") + server.calls("evalsha");
        let deleted = server.calls("del");
        assert!(deleted <= looked, "{deleted} deletes, {looked} scripts");
        assert_eq!(server.calls("unlink"), 0);
    }
}

#[test]
fn a_delete_that_the_node_will_never_run_is_not_repeated_when_the_key_has_expired() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let short = AcquireOptions {
        ttl: Duration::from_millis(500),
        ..OPTIONS
    };
    let guard = acquire_all(&trio, &lock, &short);
    // SET is allowed; scripts are not, nor the native commands of some servers.
    let known: Vec<String> = trio.servers[0].query(redis::cmd("ACL").arg("CAT").arg("write"));
    let mut user = vec!["SETUSER", "default", "-eval", "-evalsha"];
    if known.iter().any(|command| command == "delifeq") {
        user.push("-delifeq");
    }
    let _: () = trio.servers[0].query(redis::cmd("ACL").arg(&user));
    let released = trio.runtime.block_on(guard.release());
    assert_eq!(released.deleted, 2);
    let refused = || {
        let stats: String = trio.servers[0].query(redis::cmd("INFO").arg("commandstats"));
        let counts = stats
            .lines()
            .filter(|line| line.starts_with("cmdstat_eval"))
            .filter_map(|line| {
                line.split("rejected_calls=")
                    .nth(1)?
                    .split(',')
                    .next()?
                    .parse::<u64>()
                    .ok()
            });
        counts.sum::<u64>()
    };
    assert!(refused() > 0);
    trio.until("the node is left alone", async || {
        let before = refused();
        sleep(short.ttl).await;
        refused() == before
    });
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
}

#[test]
fn a_flush_waits_for_a_node_that_comes_back_while_it_waits() {
    let _turn = beside();
    let mut trio = Trio::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let lock = trio.redlock();
    let guard = acquire_all(&trio, &lock, &IMPATIENT);
    trio.servers[0].pause();
    trio.kill(1);
    trio.until("the node is suspect", async || is_suspect(&trio.nodes, 0).await);
    drop(guard);
    thread::scope(|scope| {
        let (stopped, dead) = trio.servers.split_at_mut(1);
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(100));
            stopped[0].resume();
            dead[0].restart();
        });
        assert_eq!(trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT)), 3);
    });
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
}

#[test]
fn a_flush_waits_for_deletes_that_must_be_sent_again() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let guard = acquire_all(&trio, &lock, &OPTIONS);
    for server in &trio.servers {
        let _: () = server.query(redis::cmd("SCRIPT").arg("FLUSH"));
    }
    drop(guard);
    assert_eq!(trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT)), 3);
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
}

#[test]
fn connections_that_break_under_load_leave_nothing_behind() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let cuts = thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel::<()>();
        let servers = &trio.servers;
        let cutting = scope.spawn(move || {
            let mut cuts = 0;
            while stopped.recv_timeout(Duration::from_millis(5)) == Err(mpsc::RecvTimeoutError::Timeout) {
                servers[cuts % 3].cut();
                cuts += 1;
            }
            cuts
        });
        trio.runtime.block_on(fickle(&lock, 3));
        drop(stop);
        cutting.join().unwrap()
    });
    assert!(cuts >= 3, "{cuts}");
    trio.no_keys();
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));
}

// Extensions and renewals.

#[test]
fn an_extension_that_fails_unlocks_nothing() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let guard = acquire_all(&trio, &lock, &IMPATIENT);
    let _: () = trio.servers[0].query(redis::cmd("DEL").arg(KEY));
    trio.servers[1].pause();
    let failed = trio.runtime.block_on(guard.extend()).unwrap_err();
    assert!(matches!(failed, NotExtended::NoQuorum { .. }), "{failed:?}");
    trio.servers[1].resume();
    trio.until("all have run it", async || trio.nodes.flush(TEST_TIMEOUT).await == 3);
    assert_eq!(keys_of(&trio.servers), [0, 1, 1]);
    assert!(!guard.is_lost());
    assert!(trio.runtime.block_on(guard.extend()).is_ok());
    assert_eq!(trio.acquire(&lock, &OPTIONS).unwrap_err(), Refusal::Contended);
    drop(guard);
    trio.no_keys();
}

#[test]
fn an_extension_that_runs_after_the_expiry_creates_nothing() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let options = AcquireOptions {
        ttl: Duration::from_millis(500),
        reply_timeout: Some(Duration::from_millis(400)),
        ..OPTIONS
    };
    let acquired = Instant::now();
    let guard = acquire_all(&trio, &lock, &options);
    let expired = acquired.elapsed() + options.ttl;
    trio.servers.iter().for_each(RedisServer::pause);
    let extended = trio.runtime.block_on(async {
        let extended = guard.extend().await;
        guard.lost().await;
        sleep(expired.saturating_sub(acquired.elapsed())).await;
        extended
    });
    assert!(extended.is_err());
    trio.servers.iter().for_each(RedisServer::resume);
    trio.until("all have run it", async || trio.nodes.flush(TEST_TIMEOUT).await == 3);
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
    assert_eq!(trio.runtime.block_on(guard.extend()), Err(NotExtended::Lost));
    assert_eq!(guard.validity(), Duration::ZERO);
}

/// Holds a lock for ten times its TTL. A contender that keeps asking must never get it.
async fn hold(lock: &Lock, rival: &Lock, options: &AcquireOptions) {
    let guard = lock.acquire(KEY, options).await.unwrap();
    let asking = async {
        loop {
            if rival.acquire(KEY, &IMPATIENT).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = guard.lost() => panic!("lost"),
        () = asking => panic!("held by two"),
        () = sleep(options.ttl * 10) => {}
    }
    assert!(!guard.is_lost());
    guard.release().await;
}

#[test]
fn a_renewal_keeps_a_lock_while_a_node_is_paused_and_while_one_is_restarted() {
    let _turn = beside();
    let (with_pause, mut with_restart) = (Trio::start(), Trio::start());
    let options = AcquireOptions {
        ttl: Duration::from_millis(500),
        renew: Some(Duration::from_millis(100)),
        reply_timeout: Some(Duration::from_millis(80)),
        ..OPTIONS
    };
    with_pause.servers[0].pause();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (lock, rival) = (with_pause.redlock(), with_pause.redlock());
            with_pause.runtime.block_on(hold(&lock, &rival, &options));
        });
        let (lock, rival) = (with_restart.redlock(), with_restart.redlock());
        let (servers, runtime) = (&mut with_restart.servers, &with_restart.runtime);
        let restart = async {
            sleep(options.ttl * 2).await;
            servers[0].kill();
            sleep(options.ttl * 2).await;
            servers[0].restart();
            pending::<()>().await;
        };
        runtime.block_on(async {
            tokio::select! {
                () = hold(&lock, &rival, &options) => {}
                () = restart => {}
            }
        });
    });
    with_pause.servers[0].resume();
    with_pause.no_keys();
    with_restart.no_keys();
}

#[test]
fn the_loss_of_a_majority_is_signalled_while_the_rest_of_the_validity_is_still_there() {
    let _turn = beside();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    let renewed = AcquireOptions {
        renew: Some(Duration::from_millis(50)),
        ..OPTIONS
    };
    let guard = acquire_all(&trio, &lock, &renewed);
    let end = Instant::now() + guard.validity();
    for index in [0, 1] {
        trio.kill(index);
        trio.servers[index].restart();
    }
    trio.runtime.block_on(async {
        timeout(TEST_TIMEOUT, guard.lost())
            .await
            .expect("the loss is signalled");
    });
    assert!(Instant::now() < end);
    assert!(guard.is_lost());
    drop(guard);
    trio.no_keys();
}

#[test]
fn the_loss_is_signalled_before_the_validity_ends_while_a_majority_is_down() {
    let _turn = beside();
    let options = AcquireOptions {
        ttl: Duration::from_secs(1),
        renew: Some(Duration::from_millis(200)),
        ..IMPATIENT
    };
    // A machine that stops for some milliseconds may be late once, but not every time.
    let in_time = (0..10).any(|_| {
        let mut trio = Trio::start();
        let lock = trio.redlock();
        let guard = acquire_all(&trio, &lock, &options);
        trio.kill(0);
        trio.kill(1);
        trio.runtime.block_on(async {
            let mut end = Instant::now();
            let signalled = loop {
                // The end may still move as long as an extension from before the kill is under way.
                let now = Instant::now();
                end = end.max(now + guard.validity());
                tokio::select! {
                    () = guard.lost() => break Instant::now(),
                    () = sleep(Duration::from_millis(10)) => {}
                }
            };
            assert!(guard.is_lost());
            assert_eq!(guard.extend().await, Err(NotExtended::Lost));
            signalled < end
        })
    });
    assert!(in_time);
}

#[test]
fn a_lock_whose_lifetime_is_over_is_not_handed_out() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let over = AcquireOptions {
        lifetime: Some(Duration::ZERO),
        ..OPTIONS
    };
    assert_eq!(trio.acquire(&lock, &over).unwrap_err().outcome(), Outcome::Expired);
    trio.no_keys();
}

#[test]
fn a_node_that_lost_the_key_and_is_slow_is_asked_for_it_once() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let options = AcquireOptions {
        renew: Some(Duration::from_secs(1)),
        reply_timeout: Some(TEST_TIMEOUT),
        repair: true,
        ..OPTIONS
    };
    let guard = acquire_all(&trio, &lock, &options);
    let _: () = trio.servers[2].query(redis::cmd("DEL").arg(KEY));
    trio.until("the loss is known", async || {
        guard.extend().await.unwrap();
        guard.votes() == 2
    });
    trio.servers[2].pause();
    // More commands than may be under way to a node: the next one waits in the queue.
    trio.runtime.block_on(async {
        load(&lock, 150, AcquireOptions { renew: None, ..options }).await;
        sleep(Duration::from_secs(4)).await;
    });
    trio.servers[2].resume();
    trio.until("all have run it", async || trio.nodes.flush(TEST_TIMEOUT).await == 3);
    trio.until("it voted once more", async || guard.votes() == 3);
    drop(guard);
    trio.no_keys();
}

#[test]
fn a_lock_that_is_gone_leaves_no_task_behind() {
    let _turn = beside();
    let trio = Trio::start();
    let tasks = || trio.runtime.metrics().num_alive_tasks();
    let before = tasks();
    let options = AcquireOptions {
        renew: Some(Duration::from_millis(20)),
        ..OPTIONS
    };
    for wait in [Wait::FailFast, Wait::Queue] {
        let lock = trio.redlock();
        let guard = acquire_all(&trio, &lock, &AcquireOptions { wait, ..options });
        trio.runtime.block_on(async {
            guard.release().await;
            // Until nothing is left to renew.
            sleep(Duration::from_millis(100)).await;
        });
    }
    trio.until("only connections are left", async || tasks() <= before);
}

// Waiting.

#[test]
fn all_of_64_tasks_that_want_one_key_get_it_in_the_order_in_which_they_came() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let order = Arc::new(Mutex::new(Vec::new()));
    trio.runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let (lock, order) = (lock.clone(), Arc::clone(&order));
            tasks.spawn(async move {
                let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
                order.lock().unwrap().push(task);
                sleep(Duration::from_millis(1)).await;
                assert!(!guard.is_lost());
                guard.release().await;
            });
            yield_now().await;
        }
        join(tasks).await;
    });
    assert!(order.lock().unwrap().is_sorted(), "{order:?}");
    assert_eq!(lock.gauges().waiting(), 0);
    trio.no_keys();
}

#[test]
fn waiters_of_several_app_servers_all_get_their_turn() {
    let _turn = beside();
    let trio = Trio::start();
    thread::scope(|scope| {
        for server in 0..4 {
            let servers = &trio.servers;
            scope.spawn(move || {
                let (runtime, nodes) = app_server(servers);
                let lock = Lock::redlock(&nodes, server);
                runtime.block_on(async {
                    let mut tasks = JoinSet::new();
                    for _ in 0..16 {
                        let lock = lock.clone();
                        tasks.spawn(async move {
                            for _ in 0..3 {
                                let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
                                assert!(!guard.is_lost());
                                guard.release().await;
                            }
                        });
                    }
                    join(tasks).await;
                    nodes.flush(TEST_TIMEOUT).await;
                });
            });
        }
    });
    trio.no_keys();
}

#[test]
fn a_waiter_that_gives_up_holds_up_nobody_behind_it() {
    let _turn = beside();
    let trio = Trio::start();
    let lock = trio.redlock();
    let holder = trio.acquire(&lock, &OPTIONS).unwrap();
    trio.runtime.block_on(async {
        for turns in 0..50 {
            let early = give_up_after(turns, lock.acquire(KEY, &QUEUE)).await;
            assert!(!matches!(early, Some(Ok(_))), "two holders");
        }
        let brief = AcquireOptions {
            timeout: Duration::from_millis(100),
            ..QUEUE
        };
        assert_eq!(lock.acquire(KEY, &brief).await.unwrap_err(), Refusal::Contended);
        assert_eq!(lock.gauges().waiting(), 0);
        holder.release().await;
        let guard = timeout(TEST_TIMEOUT, lock.acquire(KEY, &QUEUE)).await.unwrap().unwrap();
        guard.release().await;
    });
    trio.no_keys();
}
