//! The lock engine on real servers.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::kit::trio::{
    BRIEF, IMPATIENT, KEY, OPTIONS, PERSISTENT, QUEUE, RETRY, SOON, Trio, addrs_of, app_server, elsewhere, keys_of,
    lasting, no_quorum, unknown,
};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, in_time, until};
use lockstorm_lock::{Cause, Gauges, Guard, Lock, NodeOptions, Nodes, NotExtended, Outcome, Refusal, Wait};
use redis::cmd;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

#[tokio::test]
async fn futures_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<(Lock, Nodes, Guard, Arc<Gauges>)>();
    let lock = Lock::none();
    is_send(&lock.acquire(KEY, &OPTIONS));
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    is_send(&guard.lost());
    is_send(&guard.extend());
    assert_eq!((guard.votes(), guard.nodes(), guard.is_lost()), (0, 0, false));
    is_send(&guard.release());
}

/// One app server's share of the contention. A section is never entered by two workers at a time.
async fn contend(lock: Lock, busy: Arc<AtomicBool>, sections: Arc<AtomicU32>) {
    let mut workers = JoinSet::new();
    for _ in 0..6 {
        let (lock, busy, sections) = (lock.clone(), Arc::clone(&busy), Arc::clone(&sections));
        workers.spawn(async move {
            for _ in 0..10 {
                let guard = lock.acquire(KEY, &OPTIONS.wait(RETRY)).await.unwrap();
                assert!(!busy.swap(true, SeqCst), "two holders");
                tokio::task::yield_now().await;
                sections.fetch_add(1, SeqCst);
                busy.store(false, SeqCst);
                assert!(!guard.is_lost());
                guard.release().await;
            }
        });
    }
    workers.join_all().await;
}

#[tokio::test]
async fn only_one_of_many_holds_a_lock() {
    let trio = Trio::start().await;
    let single = |nodes: &Nodes, seed| Lock::single(nodes, 1, seed);
    for make in [Lock::redlock, single] {
        let (busy, sections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let ours = contend(make(&trio.nodes, 1), Arc::clone(&busy), Arc::clone(&sections));
        let theirs = {
            let sections = Arc::clone(&sections);
            elsewhere(&trio.servers, async move |nodes| {
                contend(make(&nodes, 2), busy, sections).await;
            })
        };
        ours.await;
        theirs.join().unwrap();
        assert_eq!(sections.load(SeqCst), 2 * 6 * 10);
    }
    trio.no_keys().await;
}

#[tokio::test]
async fn a_local_lock_is_one_of_its_own_app_server() {
    let lock = Lock::local();
    let (busy, sections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    contend(lock.clone(), busy, Arc::clone(&sections)).await;
    assert_eq!(sections.load(SeqCst), 60);
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    assert_eq!(lock.acquire(KEY, &OPTIONS).await.unwrap_err(), Refusal::Contended);
    assert_eq!(lock.gauges().holding(), 1);
    assert!(!guard.waited());
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire(KEY, &QUEUE).await }
    });
    while lock.gauges().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    drop(guard);
    assert!(waiter.await.unwrap().unwrap().waited());
    assert_eq!(lock.gauges().holding(), 0);
}

#[tokio::test]
async fn without_a_minority_it_goes_on_and_without_a_majority_it_says_why() {
    let mut trio = Trio::start().await;
    let lock = trio.lock.clone();
    let refused: Arc<Mutex<Vec<(Instant, Outcome)>>> = Arc::default();
    let (start, hook) = (Instant::now(), Arc::clone(&refused));
    let note = move |key: &[u8], asked, outcome| {
        assert_eq!(key, KEY.as_bytes());
        hook.lock().unwrap().push((asked, outcome));
    };
    assert!(lock.gauges().on_refused_attempt(note), "no hook was set before");
    assert!(
        !lock
            .gauges()
            .on_refused_attempt(|_, _, _| panic!("the first one stays"))
    );
    let guard = trio.acquire_all(&OPTIONS).await;
    assert_eq!(trio.acquire(&OPTIONS).await.unwrap_err().outcome(), Outcome::Contended);
    let released = guard.release().await;
    assert!(released.deleted >= 2, "{released:?}");

    trio.kill(0).await;
    let guard = trio.acquire(&OPTIONS).await.unwrap();
    assert_eq!((guard.votes(), guard.nodes(), lock.gauges().partial()), (2, 3, 1));
    guard.release().await;

    trio.kill(2).await;
    let refusal = trio.acquire(&OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::Refused), None, Some(Cause::Refused)]));
    assert_eq!(
        refusal.to_string(),
        "no quorum: node 1 refused, node 2 voted, node 3 refused"
    );

    let refused = refused.lock().unwrap().clone();
    let outcomes: Vec<Outcome> = refused.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(
        outcomes,
        [Outcome::Contended, Outcome::NoQuorum],
        "and nothing of what was granted"
    );
    assert!(start <= refused[0].0 && refused[0].0 < refused[1].0, "{refused:?}");

    trio.servers[2].restart();
    until("two nodes are connected", async || {
        trio.nodes.ready(Duration::ZERO).await == 2
    })
    .await;
    drop(trio.acquire(&OPTIONS).await.unwrap());
    trio.servers[0].restart();
    trio.no_keys().await;
}

#[tokio::test]
async fn nodes_that_do_not_answer_leave_the_outcome_unknown_and_no_key_behind() {
    let trio = Trio::with_node_timeout(SOON).await;
    let lock = trio.lock.clone();
    trio.pause(&[1, 2]);
    assert_eq!(
        trio.acquire(&IMPATIENT).await.unwrap_err(),
        unknown([None, Some(Cause::Timeout), Some(Cause::Timeout)])
    );
    // From then on nothing new is sent to them.
    let refused = no_quorum([None, Some(Cause::Suspect), Some(Cause::Suspect)]);
    until("both are suspect", async || {
        lock.acquire(KEY, &IMPATIENT).await.unwrap_err() == refused
    })
    .await;
    // An acquire that its caller gives up must not leave anything either.
    let single = Lock::single(&trio.nodes, 0, 1);
    trio.servers[0].pause();
    let given_up = timeout(Duration::from_millis(20), single.acquire(KEY, &OPTIONS)).await;
    assert!(given_up.is_err());
    trio.recovers().await;
    assert_eq!(lock.gauges().holding() + single.gauges().holding(), 0);
}

#[tokio::test]
async fn a_late_vote_raises_the_votes_and_a_paused_node_slows_nobody() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    trio.servers[0].pause();
    let guard = trio.acquire(&OPTIONS).await.unwrap();
    assert_eq!((guard.votes(), guard.nodes()), (2, 3));
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (1, 1));
    trio.servers[0].resume();
    until("the third vote came", async || guard.votes() == 3).await;
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (1, 0));
    assert_eq!(trio.keys(), [1, 1, 1]);
    drop(guard);
    assert_eq!(lock.gauges().holding(), 0);
    trio.no_keys().await;
}

#[tokio::test]
async fn a_lock_released_while_a_node_is_paused_is_deleted_there_when_it_runs_again() {
    let trio = Trio::start().await;
    trio.servers[0].pause();
    for _ in 0..100 {
        let guard = trio.acquire(&IMPATIENT).await.unwrap();
        let released = guard.release().await;
        assert_eq!((released.deleted, released.gone), (2, 0));
    }
    trio.recovers().await;
}

/// Acquires and releases its own key until it is told to stop. Returns how often it had the lock.
async fn cycle(lock: Lock, key: String, stop: Arc<AtomicBool>) -> u32 {
    let mut cycles = 0;
    while !stop.load(SeqCst) {
        match lock.acquire(&key, &IMPATIENT).await {
            // Every second release is left to the background.
            Ok(guard) if cycles % 2 == 0 => drop(guard.release().await),
            Ok(guard) => drop(guard),
            // Don't spin while no node can be asked.
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
        cycles += 1;
    }
    cycles
}

#[tokio::test]
async fn pauses_kills_and_restarts_under_load_leave_no_key_behind() {
    let mut trio = Trio::start().await;
    let lock = trio.lock.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let worker = |worker| tokio::spawn(cycle(lock.clone(), format!("key:{worker}"), Arc::clone(&stop)));
    let workers: Vec<_> = (0..64).map(worker).collect();
    let work = async || sleep(Duration::from_millis(150)).await;
    work().await;
    trio.servers[0].pause();
    work().await;
    trio.servers[1].pause();
    work().await;
    trio.resume(&[0, 1]);
    work().await;
    trio.kill(2).await;
    work().await;
    trio.servers[0].pause();
    trio.servers[2].restart();
    work().await;
    trio.servers[0].resume();
    work().await;
    stop.store(true, SeqCst);
    for worker in workers {
        assert!(worker.await.unwrap() > 0);
    }
    trio.nodes.flush(TEST_TIMEOUT).await;
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (0, 0));
    trio.no_keys().await;
}

#[tokio::test]
async fn an_expired_lock_is_never_handed_out() {
    let trio = Trio::start().await;
    // After the allowance for clock drift nothing is left of 2 ms. On a slow machine not even the votes come in time.
    let short = lasting(2);
    let refusal = trio.acquire(&short).await.unwrap_err();
    assert!(
        matches!(refusal, Refusal::Expired { .. } | Refusal::Unknown { .. }),
        "{refusal:?}"
    );

    let options = OPTIONS.ttl(Duration::from_millis(300)).reply_timeout(TEST_TIMEOUT);
    trio.pause(&[1, 2]);
    let refusal = trio.acquire(&options).await.unwrap_err();
    trio.resume(&[1, 2]);
    assert_eq!(refusal.outcome(), Outcome::Unknown, "{refusal:?}");
    trio.no_keys().await;
}

#[tokio::test]
async fn renewal_keeps_a_lock_and_its_loss_is_signalled() {
    let trio = Trio::start().await;
    let options = OPTIONS
        .ttl(Duration::from_secs(1))
        .renew_every(Duration::from_millis(250));
    let guard = trio.acquire(&options).await.unwrap();
    assert!(
        timeout(options.ttl * 3, guard.lost()).await.is_err(),
        "held for three times its TTL"
    );
    assert!(!guard.is_lost());
    assert_eq!(trio.acquire(&OPTIONS).await.unwrap_err(), Refusal::Contended);

    // The loss of one key is not the loss of the lock; the loss of two of three is.
    trio.servers[0].forget(KEY);
    assert!(guard.extend().await.is_ok());
    trio.servers[1].forget(KEY);
    in_time("the loss is signalled", guard.lost()).await;
    assert!(guard.is_lost());
    assert_eq!(guard.validity(), Duration::ZERO);
    assert_eq!(trio.keys()[..2], [0, 0], "an extension creates nothing");
    guard.release().await;
    trio.no_keys().await;
}

#[tokio::test]
async fn without_renewal_the_end_of_the_validity_is_the_loss() {
    let trio = Trio::start().await;
    let options = lasting(300);
    let guard = trio.acquire(&options).await.unwrap();
    in_time("the loss is signalled", guard.lost()).await;
    assert!(guard.is_lost());
    assert_eq!(guard.extend().await, Err(NotExtended::Lost));
    eventually("all keys expired", || trio.keys() == [0, 0, 0]);
}

#[tokio::test]
async fn an_extension_without_a_quorum_leaves_the_validity_as_it_is() {
    let trio = Trio::start().await;
    let guard = trio.acquire_all(&IMPATIENT).await;
    trio.pause(&[1, 2]);
    let before = guard.validity();
    let causes = vec![None, Some(Cause::Timeout), Some(Cause::Timeout)];
    assert_eq!(guard.extend().await, Err(NotExtended::NoQuorum { causes }));
    assert!(!guard.is_lost());
    assert!(guard.validity() <= before);
    trio.resume(&[1, 2]);
    until("it is extended again", async || guard.extend().await.is_ok()).await;
    drop(guard);
    trio.no_keys().await;
}

#[tokio::test]
async fn a_key_that_became_something_else_is_lost_and_stays() {
    let trio = Trio::start().await;
    for extends in [true, false] {
        let guard = trio.acquire_all(&OPTIONS).await;
        for server in &trio.servers[..2] {
            server.forget(KEY);
            let _: () = server.query(cmd("RPUSH").arg(KEY).arg("somebody else's"));
        }
        if extends {
            assert!(guard.extend().await.is_err());
            assert!(guard.is_lost(), "the loss shows before the validity ends");
        }
        let released = guard.release().await;
        // It does not wait for a third answer after two have come; a refused delete would have to be sent again.
        assert!(released.unconfirmed <= 1, "{released:?}");
        eventually("ours is deleted, theirs stays", || trio.keys() == [1, 1, 0]);
        for server in &trio.servers[..2] {
            server.forget(KEY);
        }
    }
}

#[tokio::test]
async fn a_delete_that_is_owed_reaches_a_node_that_kept_the_key_through_its_death() {
    let mut trio = Trio::with(&PERSISTENT).await;
    let guard = trio.acquire_all(&OPTIONS).await;
    trio.kill(0).await;
    trio.servers[0].restart();
    assert_eq!(trio.servers[0].keys(), 1);
    trio.kill(0).await;
    let released = guard.release().await;
    assert_eq!((released.deleted, released.unconfirmed), (2, 1));
    trio.servers[0].restart();
    trio.no_keys().await;
}

#[test]
fn a_killed_app_server_sends_nothing_and_its_keys_keep_their_ttl() {
    let _turn = beside();
    let servers = [0, 1, 2].map(|_| RedisServer::start());
    let (runtime, nodes) = app_server(&servers);
    let lock = Lock::redlock(&nodes, 1);
    let gauges = lock.gauges();
    let options = OPTIONS.renew_every(Duration::from_millis(5));
    let outside = runtime.block_on(lock.acquire(KEY, &options)).unwrap();
    runtime.spawn({
        let lock = lock.clone();
        async move {
            let _inside = lock.acquire("other", &options).await.unwrap();
            std::future::pending::<()>().await;
        }
    });
    runtime.block_on(async {
        while gauges.holding() < 2 || outside.votes() < 3 || gauges.partial() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    });
    drop(runtime);
    assert_eq!(gauges.holding(), 1);
    drop(outside);
    assert_eq!(gauges.holding(), 0);
    drop((lock, nodes));
    assert_eq!(keys_of(&servers), [2, 2, 2]);
    for server in &servers {
        assert!(server.query::<i64>(cmd("PTTL").arg(KEY)) > 0);
    }
}

#[tokio::test]
async fn waiting_until_expiry_gets_the_lock_of_a_holder_that_never_releases() {
    let trio = Trio::start().await;
    let short = lasting(500);
    let holder = trio.acquire(&short).await.unwrap();
    let guard = trio.acquire(&QUEUE).await.unwrap();
    assert!(holder.is_lost());
    assert!(guard.waited());
    assert!(guard.attempts() >= 2);
    // It does not poll: one more attempt when the time came, and a few more if it was slightly early.
    assert!(guard.attempts() < 10, "{} attempts", guard.attempts());

    let hopeless = QUEUE.timeout(Duration::from_millis(100));
    assert_eq!(trio.acquire(&hopeless).await.unwrap_err(), Refusal::Contended);
    drop((holder, guard));
    trio.no_keys().await;
}

#[tokio::test]
async fn options_beyond_all_bounds_do_not_panic() {
    let trio = Trio::start().await;
    let endless = OPTIONS
        .ttl(Duration::MAX)
        .renew_every(Duration::MAX)
        .timeout(Duration::MAX)
        .reply_timeout(Duration::MAX);
    let guard = trio.acquire(&endless).await.unwrap();
    let wait = Wait::Retry {
        retries: 1,
        delay: Duration::MAX,
        jitter: Duration::ZERO,
    };
    let nothing = endless
        .ttl(Duration::ZERO)
        .renew_every(Duration::ZERO)
        .wait(wait)
        .timeout(TEST_TIMEOUT);
    trio.acquire(&nothing).await.unwrap_err();
    guard.release().await;
    trio.acquire(&nothing).await.unwrap_err();
    trio.no_keys().await;
}

#[tokio::test]
async fn retries_are_bounded_by_their_number_and_by_the_deadline() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let holder = trio.acquire(&OPTIONS).await.unwrap();
    let before = lock.gauges().attempts();
    let wait = Wait::Retry {
        retries: 3,
        delay: Duration::from_millis(1),
        jitter: Duration::ZERO,
    };
    assert_eq!(trio.acquire(&OPTIONS.wait(wait)).await.unwrap_err(), Refusal::Contended);
    assert_eq!(lock.gauges().attempts() - before, 4);
    let brief = OPTIONS.wait(RETRY).timeout(Duration::from_millis(50));
    let refusal = trio.acquire(&brief).await.unwrap_err();
    assert!(
        matches!(refusal.outcome(), Outcome::Contended | Outcome::Unknown),
        "{refusal:?}"
    );
    drop(holder);
    let guard = trio.acquire(&OPTIONS.wait(RETRY)).await.unwrap();
    drop(guard);
    trio.no_keys().await;
}

#[tokio::test]
async fn nodes_that_are_down_at_the_start_are_used_when_they_come() {
    let mut trio = Trio::start().await;
    trio.servers[0].kill();
    trio.servers[1].kill();
    let nodes = Nodes::connect(&addrs_of(&trio.servers), NodeOptions::default());
    assert_eq!(nodes.ready(Duration::from_millis(200)).await, 1);
    let lock = Lock::redlock(&nodes, 1);
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    assert_eq!(refusal, no_quorum([Some(Cause::Refused), Some(Cause::Refused), None]));
    trio.servers[0].restart();
    trio.servers[1].restart();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
    drop(lock.acquire(KEY, &OPTIONS).await.unwrap());
    drop((lock, nodes));
    trio.no_keys().await;
    // The connections of dropped handles end: only those of the trio and of this question are left.
    for server in &trio.servers {
        until("the connections of dropped handles are closed", async || {
            let list: String = server.query(cmd("CLIENT").arg("LIST"));
            list.lines().count() <= 2
        })
        .await;
    }
}

#[tokio::test]
async fn a_node_that_answers_with_an_error_is_a_cause_of_its_own() {
    let trio = Trio::start().await;
    let lock = Lock::single(&trio.nodes, 0, 1);
    let _: () = trio.servers[0].query(cmd("CONFIG").arg("SET").arg("min-replicas-to-write").arg(1));
    let refusal = lock.acquire(KEY, &OPTIONS).await.unwrap_err();
    let Refusal::NoQuorum { causes } = refusal else {
        panic!("{refusal:?}")
    };
    assert!(
        matches!(&causes[..], [Some(Cause::NotReady(text))] if text.starts_with("NOREPLICAS")),
        "{causes:?}"
    );
}

#[tokio::test]
async fn acquires_that_wait_behind_others_of_their_own_app_server_do_not_blame_the_nodes() {
    let trio = Trio::alone().await;
    let lock = trio.lock.clone();
    // Far more than nodes can answer within this time, in which a busy machine lets each of them run.
    let options = OPTIONS.reply_timeout(Duration::from_millis(300));
    let mut tasks = JoinSet::new();
    for task in 0..100_000 {
        let lock = lock.clone();
        tasks.spawn(async move { lock.acquire(&format!("k:{task}"), &options).await });
    }
    let mut guards = Vec::new();
    while let Some(acquired) = tasks.join_next().await {
        guards.push(acquired.unwrap().unwrap());
    }
    assert_eq!(lock.gauges().holding(), 100_000);
    drop(guards);
    trio.flushed().await;
    assert_eq!(trio.keys(), [0, 0, 0]);
}

#[tokio::test]
async fn an_acquire_may_stop_waiting_before_the_nodes_are_suspect() {
    let trio = Trio::start().await;
    let hurried = OPTIONS.reply_timeout(Duration::from_millis(20));
    trio.pause(&[0, 1]);
    // Twice: if the nodes had become suspect, the second acquire would not ask them.
    for _ in 0..2 {
        let Refusal::Unknown { causes } = trio.acquire(&hurried).await.unwrap_err() else {
            panic!("they may have voted");
        };
        assert_eq!(causes[..2], [Some(Cause::Timeout), Some(Cause::Timeout)]);
    }
    trio.recovers().await;
}

#[tokio::test]
async fn a_node_that_owes_a_reply_for_the_node_timeout_is_suspect_for_all_who_use_it() {
    let trio = Trio::with_node_timeout(BRIEF).await;
    trio.pause(&[0, 1]);
    drop(trio.acquire(&OPTIONS).await.unwrap_err());
    let suspect = no_quorum([Some(Cause::Suspect), Some(Cause::Suspect), None]);
    until("another lock does not ask them", async || {
        Lock::redlock(&trio.nodes, 2).acquire("other", &OPTIONS).await.err() == Some(suspect.clone())
    })
    .await;
    trio.recovers().await;
}

#[tokio::test]
async fn a_retry_right_after_a_timeout_does_not_wait_for_the_same_nodes() {
    let trio = Trio::with_node_timeout(BRIEF).await;
    trio.pause(&[1, 2]);
    // On one thread, the next acquire comes before any timer of the connections.
    for cause in [Cause::Timeout, Cause::Suspect] {
        let refusal = trio.acquire(&OPTIONS).await.unwrap_err();
        let (Refusal::Unknown { causes } | Refusal::NoQuorum { causes, .. }) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(causes[1..], [Some(cause.clone()), Some(cause)]);
    }
    trio.recovers().await;
}

#[tokio::test]
async fn round_trips_are_reported_for_each_node() {
    let trio = Trio::start().await;
    let times: Arc<Mutex<Vec<Vec<Duration>>>> = Arc::new(Mutex::new(vec![Vec::new(); 3]));
    let hook = Arc::clone(&times);
    let nodes = &trio.nodes;
    let set = nodes.on_round_trip(move |node, time| hook.lock().unwrap()[node].push(time));
    assert!(set, "no hook was set before");
    assert!(!nodes.on_round_trip(|_, _| panic!("the first one stays")));
    let some = nodes.subset(&[1]);
    assert!(!some.on_round_trip(|_, _| panic!("also for some of them")));
    trio.servers[2].pause();
    let guard = trio.acquire(&OPTIONS).await.unwrap();
    let pause = Duration::from_millis(50);
    sleep(pause).await;
    let so_far = times.lock().unwrap().clone();
    assert!(
        so_far[0].len() == 1 && so_far[1].len() == 1 && so_far[2].is_empty(),
        "{so_far:?}"
    );
    trio.servers[2].resume();
    until("the late vote came", async || guard.votes() == 3).await;
    let so_far = times.lock().unwrap().clone();
    assert!(so_far[2].len() == 1 && so_far[2][0] >= pause, "{so_far:?}");
    assert!(!so_far[0][0].is_zero());
    guard.release().await;
}

#[tokio::test]
async fn a_lock_has_64_nodes_at_most() {
    let urls: Vec<String> = (1..=65)
        .map(|port| format!("redis://me:secret@127.0.0.1:{port}"))
        .collect();
    assert_eq!(Nodes::open(&urls[..64], NodeOptions::default()).unwrap().len(), 64);
    let error = Nodes::open(&urls, NodeOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("64 nodes at most") && error.contains(":65") && !error.contains("secret"),
        "{error}"
    );
}

#[tokio::test]
async fn a_node_that_is_named_twice_is_refused() {
    let open = |urls: [&str; 2]| Nodes::open(&urls, NodeOptions::default());
    let error = open(["redis://host:7000", "redis://me:secret@HOST:7000/1"])
        .unwrap_err()
        .to_string();
    assert!(error.contains("named twice") && !error.contains("secret"), "{error}");
    assert!(open(["redis://host:7000", "redis://host:7001"]).is_ok());
    let nobody: [&str; 0] = [];
    let error = Nodes::open(&nobody, NodeOptions::default()).unwrap_err();
    assert!(error.to_string().contains("there is no address"), "{error}");
}

#[tokio::test]
async fn a_hook_that_one_node_has_no_room_for_is_set_on_none() {
    let nodes = Nodes::open(&["redis://127.0.0.1:1", "redis://127.0.0.1:2"], NodeOptions::default()).unwrap();
    assert!(nodes.subset(&[1]).on_round_trip(|_, _| {}));
    assert!(!nodes.on_round_trip(|_, _| {}));
    assert!(nodes.subset(&[0]).on_round_trip(|_, _| {}), "it is still free");
}
