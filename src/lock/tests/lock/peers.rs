//! Mistakes of other lock clients, and wishes of their users, a test for each, on real servers.

use std::future::ready;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{fs, mem, thread};

use crate::kit::intermediary::Intermediary;
use crate::kit::trio::{
    IMPATIENT, KEY, OPTIONS, PERSISTENT, QUEUE, RENEWED, RETRY, SOON, Trio, addrs_of, elsewhere, lasting, no_quorum,
    unknown,
};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, in_time, until};
use lockstorm_lock::{AcquireOptions, Cause, Lock, NodeOptions, Nodes, NotExtended, Outcome, Refusal, Wait};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redis::cmd;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

fn config(server: &RedisServer, setting: &str, value: &str) {
    let _: () = server.query(cmd("CONFIG").arg("SET").arg(setting).arg(value));
}

/// Puts somebody else's lock on the server.
fn occupy(server: &RedisServer) {
    let _: () = server.query(cmd("SET").arg(KEY).arg("somebody else"));
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
    tasks.join_all().await;
}

/// Waits until every node votes for a new lock.
async fn until_all_vote(lock: &Lock) {
    until("all nodes vote", async || {
        let Ok(guard) = lock.acquire("vote", &IMPATIENT).await else {
            return false;
        };
        // The third vote comes at once or, if that node was not asked, never.
        sleep(Duration::from_millis(20)).await;
        let votes = guard.votes();
        guard.release().await;
        votes == 3
    })
    .await;
}

/// Whether node `index` is not asked any more because it owes replies.
async fn is_suspect(nodes: &Nodes, index: usize) -> bool {
    let asked = Lock::single(nodes, index, 1).acquire("suspect", &IMPATIENT).await;
    asked.is_err_and(|refusal| refusal == no_quorum([Some(Cause::Suspect)]))
}

// Nodes that hang.

#[tokio::test]
async fn a_node_that_hangs_from_the_start_holds_up_nobody() {
    let mut trio = Trio::start().await;
    trio.servers[1].pause();
    trio.nodes = Nodes::connect(&addrs_of(&trio.servers), NodeOptions::default());
    trio.lock = Lock::redlock(&trio.nodes, 1);
    until("two are connected", async || {
        trio.nodes.ready(Duration::ZERO).await >= 2
    })
    .await;
    // A client that waits for the connection in each acquire gets one lock a second.
    let lock = trio.lock.clone();
    in_time("far more than one a second", load(&lock, 16, IMPATIENT)).await;
    trio.servers[1].resume();
    until_all_vote(&lock).await;
    trio.no_keys().await;
}

#[tokio::test]
async fn with_a_ttl_of_400_ms_and_a_paused_node_every_lock_is_acquired() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    trio.servers[2].pause();
    // Allows for a machine that stops for longer than that; if a node were waited for, all acquires would fail.
    let wait = Wait::Retry {
        retries: 3,
        delay: Duration::from_millis(50),
        jitter: Duration::ZERO,
    };
    let options = OPTIONS
        .ttl(Duration::from_millis(400))
        .reply_timeout(Duration::from_millis(100))
        .wait(wait);
    load(&lock, 7, options).await;
    trio.recovers().await;
}

#[tokio::test]
async fn no_lock_is_handed_out_by_nodes_that_were_paused_for_longer_than_its_ttl() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    // With the patience of a caller who does not know better.
    let options = OPTIONS.ttl(Duration::from_secs(1)).reply_timeout(TEST_TIMEOUT);
    trio.pause(&[0, 1, 2]);
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
    trio.resume(&[0, 1, 2]);
    tasks.join_all().await;
    trio.no_keys().await;
}

#[tokio::test]
async fn a_release_waits_for_no_node_that_hangs() {
    let trio = Trio::start().await;
    let patient = OPTIONS.reply_timeout(TEST_TIMEOUT);
    let guard = trio.acquire_all(&patient).await;
    trio.servers[0].pause();
    let released = timeout(TEST_TIMEOUT / 2, guard.release()).await.expect("two confirmed");
    assert_eq!((released.deleted, released.gone, released.unconfirmed), (2, 0, 1));
    trio.recovers().await;

    let guard = trio.acquire_all(&IMPATIENT).await;
    trio.pause(&[0, 1, 2]);
    let released = in_time("bounded by the node timeout", guard.release()).await;
    assert_eq!((released.deleted, released.gone, released.unconfirmed), (0, 0, 3));
    trio.recovers().await;
}

#[tokio::test]
async fn releasing_a_lock_that_expired_ends_and_says_that_it_was_gone() {
    let trio = Trio::start().await;
    let short = IMPATIENT.ttl(Duration::from_millis(300));
    for nodes_hang in [false, true] {
        let guard = trio.acquire_all(&short).await;
        guard.lost().await;
        if nodes_hang {
            trio.pause(&[0, 1, 2]);
        } else {
            eventually("all keys expired", || trio.keys() == [0, 0, 0]);
        }
        let released = in_time("it ends", guard.release()).await;
        assert_eq!(released.deleted, 0);
        assert!(nodes_hang || released.gone >= 2, "{released:?}");
        trio.resume(&[0, 1, 2]);
    }
    trio.no_keys().await;
}

#[tokio::test]
async fn a_mere_timeout_closes_no_connection() {
    let trio = Trio::with_node_timeout(SOON).await;
    let lock = trio.lock.clone();
    let clients = || -> Vec<String> {
        let list: String = trio.servers[0].query(cmd("CLIENT").arg("LIST"));
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
    load(&lock, 4, IMPATIENT).await;
    until("the node is suspect", async || is_suspect(&trio.nodes, 0).await).await;
    trio.recovers().await;
    assert_eq!(clients(), before);
}

#[tokio::test]
async fn memory_stays_flat_while_a_node_is_paused_under_load() {
    let trio = Trio::alone().await;
    let lock = trio.lock.clone();
    trio.servers[1].pause();
    let resident = || -> usize {
        let Ok(status) = fs::read_to_string("/proc/self/status") else {
            return 0; // not Linux: the load is still there
        };
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    until("the node is suspect", async || {
        load(&lock, 10, IMPATIENT).await;
        is_suspect(&trio.nodes, 1).await
    })
    .await;
    let (before, attempts) = (resident(), lock.gauges().attempts());
    // In a queue these cycles would leave a SET and a delete each, which is more than 12 MiB.
    load(&lock, 1000, IMPATIENT).await;
    let grown = resident().saturating_sub(before);
    assert!(lock.gauges().attempts() - attempts >= 64 * 1000);
    assert!(grown < 6 << 10, "{grown} KiB more");
    trio.recovers().await;
}

#[tokio::test]
async fn a_node_that_comes_back_is_used_again() {
    let mut trio = Trio::start().await;
    let lock = trio.lock.clone();
    trio.acquire_all(&OPTIONS).await.release().await;
    for index in 0..3 {
        trio.servers[index].pause();
        load(&lock, 4, IMPATIENT).await;
        trio.servers[index].resume();
        until_all_vote(&lock).await;
        trio.kill(index).await;
        load(&lock, 4, IMPATIENT).await;
        trio.servers[index].restart();
        until_all_vote(&lock).await;
    }
    trio.no_keys().await;
}

// Nodes that refuse.

#[tokio::test]
async fn a_node_that_answers_with_an_error_costs_its_vote_and_not_the_lock() {
    let trio = Trio::start().await;
    config(&trio.servers[0], "min-replicas-to-write", "1");
    let guard = trio.acquire(&OPTIONS).await.unwrap();
    // A release before node 1 has refused would send a delete to it too, since it might have voted.
    until("all have answered", async || guard.late_votes().known() == Some(2)).await;
    let released = guard.release().await;
    assert_eq!((released.deleted, released.gone), (2, 0));

    config(&trio.servers[1], "maxmemory", "1");
    let refusal = trio.acquire(&OPTIONS).await.unwrap_err();
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
    trio.no_keys().await;
}

#[tokio::test]
async fn an_error_that_something_in_between_made_is_unknown_and_the_key_is_taken_back() {
    let _turn = beside();
    let server = RedisServer::start();
    let between = Intermediary::start(server.addr());
    let nodes = Nodes::connect(&[between.addr], NodeOptions::default());
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let lock = Lock::single(&nodes, 0, 1);
    let error = "ERR upstream failure";
    between.answer_next(error);
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, unknown([Some(Cause::Error(error.into()))]));
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    assert_eq!((server.keys(), server.calls("set")), (0, 1));
    lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
}

#[tokio::test]
async fn a_node_of_a_cluster_gives_no_vote_for_keys_of_other_nodes() {
    let _turn = beside();
    let server = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let other = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    let _: () = server.query(cmd("CLUSTER").arg(&["ADDSLOTSRANGE", "0", "8191"]));
    let _: () = other.query(cmd("CLUSTER").arg(&["ADDSLOTSRANGE", "8192", "16383"]));
    let slot: u16 = server.query(cmd("CLUSTER").arg(&["KEYSLOT", KEY]));
    let (owner, stranger) = if slot < 8192 {
        (&server, &other)
    } else {
        (&other, &server)
    };
    let meet = ["MEET", "127.0.0.1", &owner.port().to_string()].map(str::to_owned);
    let _: () = stranger.query(cmd("CLUSTER").arg(&meet));
    for server in [owner, stranger] {
        eventually("the cluster is complete", || {
            let info: String = server.query(cmd("CLUSTER").arg("INFO"));
            info.contains("cluster_state:ok")
        });
    }
    let nodes = Nodes::connect(&[owner.addr(), stranger.addr()], NodeOptions::default());
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 2);
    let refusal = Lock::single(&nodes, 1, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::Moved)]));
    let refusal = Lock::redlock(&nodes, 1).acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([None, Some(Cause::Moved)]));
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 2);
    assert_eq!((owner.keys(), stranger.keys(), stranger.calls("evalsha")), (0, 0, 0));
}

#[tokio::test]
async fn without_a_quorum_the_answer_comes_long_before_the_deadline_and_nothing_stays_on_the_survivor() {
    let mut trio = Trio::start().await;
    trio.kill(0).await;
    trio.kill(2).await;
    let start = Instant::now();
    let retries = Wait::Retry {
        retries: 2,
        delay: Duration::from_millis(10),
        jitter: Duration::from_millis(10),
    };
    for wait in [Wait::FailFast, retries] {
        for _ in 0..50 {
            let refusal = trio.acquire(&OPTIONS.wait(wait)).await.unwrap_err();
            assert_eq!(refusal, no_quorum([Some(Cause::Refused), None, Some(Cause::Refused)]));
        }
    }
    assert!(start.elapsed() < OPTIONS.timeout, "{:?}", start.elapsed());
    let survivor = trio.nodes.subset(&[1]);
    assert_eq!(survivor.flush(TEST_TIMEOUT).await, 1);
    assert_eq!(trio.servers[1].keys(), 0);
}

#[tokio::test]
async fn contention_and_an_outage_give_different_refusals() {
    let mut trio = Trio::start().await;
    let outcome = async |trio: &Trio| trio.acquire(&OPTIONS).await.unwrap_err().outcome();
    occupy(&trio.servers[0]);
    occupy(&trio.servers[1]);
    assert_eq!(outcome(&trio).await, Outcome::Contended);
    // With one node down, the others still report that somebody holds the lock.
    trio.kill(2).await;
    assert_eq!(outcome(&trio).await, Outcome::Contended);
    // With two nodes down, nobody can hold the lock or get it.
    trio.kill(0).await;
    assert_eq!(outcome(&trio).await, Outcome::NoQuorum);
    assert_eq!(
        trio.acquire(&OPTIONS).await.unwrap_err(),
        no_quorum([Some(Cause::Refused), Some(Cause::Held), Some(Cause::Refused)])
    );
}

// What a lock leaves behind.

#[tokio::test]
async fn failing_fast_leaves_nothing_behind_on_healthy_nodes() {
    let trio = Trio::start().await;
    let rush = async |nodes: Nodes| {
        let lock = Lock::redlock(&nodes, 1);
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
        tasks.join_all().await;
        // After this the background work is done, and nothing is left to wait for.
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
    };
    let other = elsewhere(&trio.servers, rush);
    rush(trio.nodes.clone()).await;
    other.join().unwrap();
    assert_eq!(trio.keys(), [0, 0, 0]);
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
                let options = IMPATIENT.wait(wait);
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
    tasks.join_all().await;
    *given_up.lock().unwrap()
}

#[tokio::test]
async fn futures_dropped_wherever_they_are_leave_nothing_behind() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let given_up = fickle(&lock, 1).await;
    trio.flushed().await;
    assert!((100..3150).contains(&given_up), "{given_up} of 3200");
    assert_eq!(trio.keys(), [0, 0, 0]);
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));

    trio.servers[1].pause();
    assert!(fickle(&lock, 2).await > 100);
    trio.recovers().await;
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));
}

#[tokio::test]
async fn a_set_is_sent_once_for_each_attempt_and_to_each_node() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    for _ in 0..20 {
        trio.acquire_all(&OPTIONS).await.release().await;
    }
    for server in &trio.servers {
        assert_eq!(server.calls("set"), lock.gauges().attempts());
    }
    // No other failure repeats a SET either: neither contention nor a node without answers.
    trio.servers.iter().for_each(occupy);
    trio.acquire(&OPTIONS).await.unwrap_err();
    trio.servers[0].pause();
    trio.acquire(&IMPATIENT).await.unwrap_err();
    trio.servers[0].resume();
    trio.caught_up().await;
    let most = lock.gauges().attempts() + 1; // ours, that occupied the key
    for server in &trio.servers {
        assert!(server.calls("set") <= most, "{} of {most}", server.calls("set"));
    }
}

#[tokio::test]
async fn nothing_is_deleted_without_checking_its_owner() {
    let trio = Trio::start().await;
    // Two votes and a key of somebody else; then one vote, which is taken back, and two keys of somebody else.
    occupy(&trio.servers[0]);
    let guard = trio.acquire(&OPTIONS).await.unwrap();
    until("all have answered", async || guard.late_votes().known() == Some(2)).await;
    guard.release().await;
    occupy(&trio.servers[1]);
    assert_eq!(trio.acquire(&OPTIONS).await.unwrap_err(), Refusal::Contended);
    // A lock that somebody else took over while its holder was busy.
    let lost = trio.lock.acquire("other", &OPTIONS).await.unwrap();
    until("all three voted", async || lost.votes() == 3).await;
    for server in &trio.servers {
        let _: () = server.query(cmd("SET").arg("other").arg("somebody else"));
    }
    let released = lost.release().await;
    assert_eq!(released.deleted, 0);
    assert!(released.gone >= 2, "{released:?}");
    trio.nodes.flush(TEST_TIMEOUT).await;
    assert_eq!(trio.keys(), [2, 2, 1]);
    for server in &trio.servers {
        // Every DEL came from a script that checked the owner first, and not every script found its own key.
        let looked = server.calls("eval") + server.calls("evalsha");
        let deleted = server.calls("del");
        assert!(deleted <= looked, "{deleted} deletes, {looked} scripts");
        assert_eq!(server.calls("unlink"), 0);
    }
}

#[tokio::test]
async fn a_delete_that_the_node_will_never_run_is_not_repeated_when_the_key_has_expired() {
    let trio = Trio::start().await;
    let short = lasting(500);
    let guard = trio.acquire_all(&short).await;
    // SET is allowed; scripts are not, nor the native commands of some servers.
    let natives = trio.servers[0].natives().into_iter().map(|native| format!("-{native}"));
    let mut user = cmd("ACL");
    user.arg(&["SETUSER", "default", "-eval", "-evalsha"]);
    let _: () = trio.servers[0].query(user.arg(natives.collect::<Vec<_>>()));
    let released = guard.release().await;
    assert_eq!(released.deleted, 2);
    let refused = || {
        let stats: String = trio.servers[0].query(cmd("INFO").arg("commandstats"));
        let rejected = |line: &str| {
            let count = line.split_once("rejected_calls=")?.1.split(',').next()?;
            count.parse::<u64>().ok()
        };
        let scripts = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
        scripts.filter_map(rejected).sum::<u64>()
    };
    until("the delete is refused", async || refused() > 0).await;
    until("the node is left alone", async || {
        let before = refused();
        sleep(short.ttl).await;
        refused() == before
    })
    .await;
    assert_eq!(trio.keys(), [0, 0, 0]);
}

#[tokio::test]
async fn a_flush_waits_for_a_node_that_comes_back_while_it_waits() {
    let mut trio = Trio::with(&PERSISTENT).await;
    let guard = trio.acquire_all(&IMPATIENT).await;
    trio.servers[0].pause();
    trio.kill(1).await;
    until("the node is suspect", async || is_suspect(&trio.nodes, 0).await).await;
    drop(guard);
    let (stopped, dead) = trio.servers.split_at_mut(1);
    let come_back = async {
        sleep(Duration::from_millis(100)).await;
        stopped[0].resume();
        dead[0].restart();
    };
    let (flushed, ()) = tokio::join!(trio.nodes.flush(TEST_TIMEOUT), come_back);
    assert_eq!(flushed, 3);
    assert_eq!(trio.keys(), [0, 0, 0]);
}

#[tokio::test]
async fn a_flush_waits_for_deletes_that_must_be_sent_again() {
    let trio = Trio::start().await;
    let guard = trio.acquire_all(&OPTIONS).await;
    for server in &trio.servers {
        let _: () = server.query(cmd("SCRIPT").arg("FLUSH"));
    }
    drop(guard);
    trio.flushed().await;
    assert_eq!(trio.keys(), [0, 0, 0]);
}

#[tokio::test]
async fn connections_that_break_under_load_leave_nothing_behind() {
    let mut trio = Trio::start().await;
    let lock = trio.lock.clone();
    let (stop, stopped) = mpsc::channel::<()>();
    let servers = mem::take(&mut trio.servers);
    let cutting = thread::spawn(move || {
        let mut cuts = 0;
        while stopped.recv_timeout(Duration::from_millis(5)) == Err(mpsc::RecvTimeoutError::Timeout) {
            servers[cuts % 3].cut();
            cuts += 1;
        }
        (cuts, servers)
    });
    fickle(&lock, 3).await;
    drop(stop);
    let (cuts, servers) = cutting.join().unwrap();
    trio.servers = servers;
    assert!(cuts >= 3, "{cuts}");
    trio.no_keys().await;
    assert_eq!((lock.gauges().holding(), lock.gauges().waiting()), (0, 0));
}

// Extensions and renewals.

#[tokio::test]
async fn an_extension_that_fails_unlocks_nothing() {
    let trio = Trio::start().await;
    let guard = trio.acquire_all(&IMPATIENT).await;
    trio.servers[0].forget(KEY);
    trio.servers[1].pause();
    let failed = guard.extend().await.unwrap_err();
    assert!(matches!(failed, NotExtended::NoQuorum { .. }), "{failed:?}");
    trio.servers[1].resume();
    trio.caught_up().await;
    assert_eq!(trio.keys(), [0, 1, 1]);
    assert!(!guard.is_lost());
    assert!(guard.extend().await.is_ok());
    assert_eq!(trio.acquire(&OPTIONS).await.unwrap_err(), Refusal::Contended);
    drop(guard);
    trio.no_keys().await;
}

#[tokio::test]
async fn an_extension_that_runs_after_the_expiry_creates_nothing() {
    let trio = Trio::start().await;
    let options = OPTIONS
        .ttl(Duration::from_millis(500))
        .reply_timeout(Duration::from_millis(400));
    let guard = trio.acquire_all(&options).await;
    trio.pause(&[0, 1, 2]);
    let extended = guard.extend().await;
    guard.lost().await;
    // A node may have run it just before it stopped, without the time to say so.
    sleep(options.ttl).await;
    assert!(extended.is_err());
    trio.resume(&[0, 1, 2]);
    trio.caught_up().await;
    assert_eq!(trio.keys(), [0, 0, 0]);
    assert_eq!(guard.extend().await, Err(NotExtended::Lost));
    assert_eq!(guard.validity(), Duration::ZERO);
}

/// Holds a lock for ten times its TTL while this happens. A contender that keeps asking must never get it.
async fn is_kept_while(trio: &Trio, happens: impl Future<Output = ()>) {
    let options = OPTIONS
        .ttl(Duration::from_millis(500))
        .renew_every(Duration::from_millis(100))
        .reply_timeout(Duration::from_millis(80));
    let guard = trio.acquire(&options).await.unwrap();
    let rival = Lock::redlock(&trio.nodes, 1);
    let asking = async {
        while rival.acquire(KEY, &IMPATIENT).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = guard.lost() => panic!("lost"),
        () = asking => panic!("held by two"),
        ((), ()) = async { tokio::join!(happens, sleep(options.ttl * 10)) } => {}
    }
    assert!(!guard.is_lost());
    guard.release().await;
}

#[tokio::test]
async fn a_renewal_keeps_a_lock_while_a_node_is_paused() {
    let trio = Trio::start().await;
    trio.servers[0].pause();
    is_kept_while(&trio, ready(())).await;
    trio.recovers().await;
}

#[tokio::test]
async fn a_renewal_keeps_a_lock_while_a_node_is_restarted() {
    let mut trio = Trio::start().await;
    let mut servers = mem::take(&mut trio.servers);
    let restart = async {
        sleep(Duration::from_secs(1)).await;
        servers[0].kill();
        sleep(Duration::from_secs(1)).await;
        servers[0].restart();
    };
    is_kept_while(&trio, restart).await;
    trio.servers = servers;
    trio.no_keys().await;
}

#[tokio::test]
async fn the_loss_of_a_majority_is_signalled_while_the_rest_of_the_validity_is_still_there() {
    let mut trio = Trio::start().await;
    let guard = trio.acquire_all(&RENEWED).await;
    let end = Instant::now() + guard.validity();
    for index in [0, 1] {
        trio.kill(index).await;
        trio.servers[index].restart();
    }
    in_time("the loss is signalled", guard.lost()).await;
    assert!(Instant::now() < end);
    assert!(guard.is_lost());
    drop(guard);
    trio.no_keys().await;
}

#[tokio::test]
async fn the_loss_is_signalled_before_the_validity_ends_while_a_majority_is_down() {
    let options = IMPATIENT
        .ttl(Duration::from_secs(1))
        .renew_every(Duration::from_millis(200));
    let is_told_in_time = async || {
        let mut trio = Trio::start().await;
        let guard = trio.acquire_all(&options).await;
        trio.kill(0).await;
        trio.kill(1).await;
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
    };
    // A machine that stops for some milliseconds may be late once, but not every time.
    for _ in 0..10 {
        if is_told_in_time().await {
            return;
        }
    }
    panic!("never in time");
}

#[tokio::test]
async fn a_lock_whose_lifetime_is_over_is_not_handed_out() {
    let trio = Trio::start().await;
    let over = OPTIONS.lifetime(Duration::ZERO);
    assert_eq!(trio.acquire(&over).await.unwrap_err().outcome(), Outcome::Expired);
    trio.no_keys().await;
}

#[tokio::test]
async fn a_node_that_lost_the_key_and_is_slow_is_asked_for_it_once() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let options = OPTIONS
        .renew_every(Duration::from_millis(250))
        .reply_timeout(TEST_TIMEOUT)
        .repair(true);
    let guard = trio.acquire_all(&options).await;
    trio.servers[2].forget(KEY);
    until("the loss is known", async || {
        guard.extend().await.unwrap();
        guard.votes() == 2
    })
    .await;
    trio.servers[2].pause();
    // More commands than may be under way to a node: the next one waits in the queue.
    load(&lock, 150, OPTIONS.reply_timeout(TEST_TIMEOUT)).await;
    sleep(Duration::from_secs(1)).await;
    trio.servers[2].resume();
    trio.caught_up().await;
    until("it voted once more", async || guard.votes() == 3).await;
    drop(guard);
    trio.no_keys().await;
}

#[tokio::test]
async fn a_lock_that_is_gone_leaves_no_task_behind() {
    let trio = Trio::start().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let options = OPTIONS.renew_every(Duration::from_millis(20));
    for wait in [Wait::FailFast, Wait::Queue] {
        let lock = Lock::redlock(&trio.nodes, 1);
        let guard = lock.acquire(KEY, &options.wait(wait)).await.unwrap();
        until("all three voted", async || guard.votes() == 3).await;
        guard.release().await;
        // Until nothing is left to renew.
        sleep(Duration::from_millis(100)).await;
    }
    until("only connections are left", async || tasks() <= before).await;
}

// Waiting.

#[tokio::test]
async fn all_of_64_tasks_that_want_one_key_get_it_in_the_order_in_which_they_came() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let order = Arc::new(Mutex::new(Vec::new()));
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
    tasks.join_all().await;
    assert!(order.lock().unwrap().is_sorted(), "{order:?}");
    assert_eq!(lock.gauges().waiting(), 0);
    trio.no_keys().await;
}

#[tokio::test]
async fn waiters_of_several_app_servers_all_get_their_turn() {
    let trio = Trio::start().await;
    let take_turns = |seed| {
        elsewhere(&trio.servers, async move |nodes| {
            let lock = Lock::redlock(&nodes, seed);
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
            tasks.join_all().await;
            nodes.flush(TEST_TIMEOUT).await;
        })
    };
    let app_servers = [0, 1, 2, 3].map(take_turns);
    for app_server in app_servers {
        app_server.join().unwrap();
    }
    trio.no_keys().await;
}

#[tokio::test]
async fn a_waiter_that_gives_up_holds_up_nobody_behind_it() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let holder = trio.acquire(&OPTIONS).await.unwrap();
    for turns in 0..50 {
        let early = give_up_after(turns, lock.acquire(KEY, &QUEUE)).await;
        assert!(!matches!(early, Some(Ok(_))), "two holders");
    }
    let brief = QUEUE.timeout(Duration::from_millis(100));
    assert_eq!(lock.acquire(KEY, &brief).await.unwrap_err(), Refusal::Contended);
    assert_eq!(lock.gauges().waiting(), 0);
    holder.release().await;
    let guard = timeout(TEST_TIMEOUT, lock.acquire(KEY, &QUEUE)).await.unwrap().unwrap();
    guard.release().await;
    trio.no_keys().await;
}
