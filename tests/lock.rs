//! The lock engine on real servers.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use lockstorm::{
    lock::{Gauges, Guard, Lock, NodeOptions, Nodes, NotExtended, Refusal, Terms},
    model::{Cause, Outcome, Wait},
};
use support::{
    PATIENCE, RedisServer, eventually, serial,
    trio::{IMPATIENT, KEY, RETRY, TERMS, Trio, app_server, keys_of},
};
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{sleep, timeout},
};

#[test]
fn futures_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<(Lock, Nodes, Guard, Arc<Gauges>)>();
    let lock = Lock::none();
    is_send(&lock.acquire(KEY, &TERMS));
    let guard = Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(lock.acquire(KEY, &TERMS))
        .unwrap();
    is_send(&guard.lost());
    is_send(&guard.extend());
    assert_eq!((guard.votes(), guard.nodes(), guard.is_lost()), (0, 0, false));
    is_send(&guard.release());
}

/// One app server's share of the contention: every section is entered by one worker at a time.
async fn contend(lock: Lock, busy: Arc<AtomicBool>, sections: Arc<AtomicU32>) {
    let mut workers = JoinSet::new();
    for _ in 0..6 {
        let (lock, busy, sections) = (lock.clone(), Arc::clone(&busy), Arc::clone(&sections));
        workers.spawn(async move {
            for _ in 0..10 {
                let guard = lock.acquire(KEY, &Terms { wait: RETRY, ..TERMS }).await.unwrap();
                assert!(!busy.swap(true, SeqCst), "two holders");
                tokio::task::yield_now().await;
                sections.fetch_add(1, SeqCst);
                busy.store(false, SeqCst);
                assert!(!guard.is_lost());
                guard.release().await;
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
}

#[test]
fn only_one_of_many_holds_a_lock() {
    let _turn = serial();
    let trio = Trio::start();
    let (other_runtime, other_nodes) = app_server(&trio.servers);
    let single = |nodes: &Nodes, seed| Lock::single(nodes, 1, seed);
    for make in [Lock::redlock, single] {
        let (busy, sections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let ours = contend(make(&trio.nodes, 1), Arc::clone(&busy), Arc::clone(&sections));
        let theirs = contend(make(&other_nodes, 2), busy, Arc::clone(&sections));
        thread::scope(|scope| {
            scope.spawn(|| other_runtime.block_on(theirs));
            trio.runtime.block_on(ours);
        });
        assert_eq!(sections.load(SeqCst), 2 * 6 * 10);
    }
    trio.no_keys();
}

#[test]
fn a_local_lock_is_one_of_its_own_app_server() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let lock = Lock::local();
    let (busy, sections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    runtime.block_on(contend(lock.clone(), busy, Arc::clone(&sections)));
    assert_eq!(sections.load(SeqCst), 60);
    runtime.block_on(async {
        let guard = lock.acquire(KEY, &TERMS).await.unwrap();
        assert_eq!(lock.acquire(KEY, &TERMS).await.unwrap_err(), Refusal::Contended);
        assert_eq!(lock.gauges().holding(), 1);
        assert!(!guard.waited());
        let waiter = tokio::spawn({
            let lock = lock.clone();
            async move {
                lock.acquire(
                    KEY,
                    &Terms {
                        wait: Wait::Queue,
                        ..TERMS
                    },
                )
                .await
            }
        });
        while lock.gauges().waiting() == 0 {
            tokio::task::yield_now().await;
        }
        drop(guard);
        assert!(waiter.await.unwrap().unwrap().waited());
        assert_eq!(lock.gauges().holding(), 0);
    });
}

#[test]
fn without_a_minority_it_goes_on_and_without_a_majority_it_says_why() {
    let _turn = serial();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    let guard = trio.acquire(&lock, &TERMS).unwrap();
    trio.until("all three voted", async || guard.votes() == 3);
    assert_eq!(trio.acquire(&lock, &TERMS).unwrap_err().outcome(), Outcome::Contended);
    let released = trio.runtime.block_on(guard.release());
    assert!(released.deleted >= 2, "{released:?}");

    trio.kill(0);
    let guard = trio.acquire(&lock, &TERMS).unwrap();
    assert_eq!((guard.votes(), guard.nodes(), lock.gauges().partial()), (2, 3, 1));
    trio.runtime.block_on(guard.release());

    trio.kill(2);
    let refusal = trio.acquire(&lock, &TERMS).unwrap_err();
    let causes = vec![Some(Cause::Refused), None, Some(Cause::Refused)];
    assert_eq!(refusal, Refusal::NoQuorum { causes });
    assert_eq!(
        refusal.to_string(),
        "no quorum: node 1 refused, node 2 voted, node 3 refused"
    );

    trio.servers[2].restart();
    trio.until("two nodes are connected", async || {
        trio.nodes.ready(Duration::ZERO).await == 2
    });
    drop(trio.acquire(&lock, &TERMS).unwrap());
    trio.servers[0].restart();
    trio.no_keys();
}

#[test]
fn nodes_that_do_not_answer_leave_the_outcome_unknown_and_no_key_behind() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    trio.servers[1].pause();
    trio.servers[2].pause();
    let causes = vec![None, Some(Cause::Timeout), Some(Cause::Timeout)];
    assert_eq!(
        trio.acquire(&lock, &IMPATIENT).unwrap_err(),
        Refusal::Unknown { causes }
    );
    // From then on nothing new is sent to them.
    let suspects = vec![None, Some(Cause::Suspect), Some(Cause::Suspect)];
    let refused = Refusal::NoQuorum { causes: suspects };
    trio.until("both are suspect", async || {
        lock.acquire(KEY, &IMPATIENT).await.unwrap_err() == refused
    });
    // An acquire that its caller gives up: nothing of it may stay either.
    let single = Lock::single(&trio.nodes, 0, 1);
    trio.servers[0].pause();
    trio.runtime.block_on(async {
        let given_up = timeout(Duration::from_millis(20), single.acquire(KEY, &TERMS)).await;
        assert!(given_up.is_err());
    });
    trio.servers.iter().for_each(RedisServer::resume);
    trio.no_keys();
    assert_eq!(lock.gauges().holding() + single.gauges().holding(), 0);
}

#[test]
fn a_late_vote_raises_the_votes_and_a_paused_node_slows_nobody() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    trio.servers[0].pause();
    let guard = trio.acquire(&lock, &TERMS).unwrap();
    assert_eq!((guard.votes(), guard.nodes()), (2, 3));
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (1, 1));
    trio.servers[0].resume();
    trio.until("the third vote came", async || guard.votes() == 3);
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (1, 0));
    assert_eq!(keys_of(&trio.servers), [1, 1, 1]);
    drop(guard);
    assert_eq!(lock.gauges().holding(), 0);
    trio.no_keys();
}

#[test]
fn a_lock_released_while_a_node_is_paused_is_deleted_there_when_it_runs_again() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    trio.servers[0].pause();
    for _ in 0..100 {
        let guard = trio.acquire(&lock, &IMPATIENT).unwrap();
        let released = trio.runtime.block_on(guard.release());
        assert_eq!((released.deleted, released.gone), (2, 0));
    }
    trio.servers[0].resume();
    trio.no_keys();
}

/// Acquires and releases on a key of its own until told to stop; how often it had the lock.
async fn cycle(lock: Lock, key: String, stop: Arc<AtomicBool>) -> u32 {
    let mut cycles = 0;
    while !stop.load(SeqCst) {
        match lock.acquire(&key, &IMPATIENT).await {
            // Every other one is left to the background.
            Ok(guard) if cycles % 2 == 0 => drop(guard.release().await),
            Ok(guard) => drop(guard),
            // Do not spin while no node can be asked.
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
        cycles += 1;
    }
    cycles
}

#[test]
fn pauses_kills_and_restarts_under_load_leave_no_key_behind() {
    let _turn = serial();
    let mut trio = Trio::start();
    let lock = trio.redlock();
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..64)
        .map(|worker| {
            trio.runtime
                .spawn(cycle(lock.clone(), format!("key:{worker}"), Arc::clone(&stop)))
        })
        .collect();
    let work = |trio: &Trio| trio.runtime.block_on(async { sleep(Duration::from_millis(150)).await });
    work(&trio);
    trio.servers[0].pause();
    work(&trio);
    trio.servers[1].pause();
    work(&trio);
    trio.servers[0].resume();
    trio.servers[1].resume();
    work(&trio);
    trio.kill(2);
    work(&trio);
    trio.servers[0].pause();
    trio.servers[2].restart();
    work(&trio);
    trio.servers[0].resume();
    work(&trio);
    stop.store(true, SeqCst);
    let nodes = trio.nodes.clone();
    trio.runtime.block_on(async {
        for worker in workers {
            assert!(worker.await.unwrap() > 0);
        }
        nodes.flush(PATIENCE).await;
    });
    assert_eq!((lock.gauges().holding(), lock.gauges().partial()), (0, 0));
    trio.no_keys();
}

#[test]
fn an_expired_lock_is_never_handed_out() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    // Nothing is left of 2 ms after the allowance for clocks. On a slow machine not even the votes come in time.
    let short = Terms {
        ttl: Duration::from_millis(2),
        ..TERMS
    };
    let refusal = trio.acquire(&lock, &short).unwrap_err();
    assert!(
        matches!(refusal, Refusal::Expired { .. } | Refusal::Unknown { .. }),
        "{refusal:?}"
    );

    let terms = Terms {
        ttl: Duration::from_millis(300),
        node_timeout: PATIENCE,
        ..TERMS
    };
    trio.servers[1].pause();
    trio.servers[2].pause();
    let refusal = trio.acquire(&lock, &terms).unwrap_err();
    trio.servers[1].resume();
    trio.servers[2].resume();
    assert_eq!(refusal.outcome(), Outcome::Unknown, "{refusal:?}");
    trio.no_keys();
}

#[test]
fn renewal_keeps_a_lock_and_its_loss_is_signalled() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let terms = Terms {
        ttl: Duration::from_secs(1),
        renew: Some(Duration::from_millis(250)),
        ..TERMS
    };
    let guard = trio.acquire(&lock, &terms).unwrap();
    trio.runtime.block_on(async {
        assert!(
            timeout(terms.ttl * 3, guard.lost()).await.is_err(),
            "held for three times its TTL"
        );
    });
    assert!(!guard.is_lost());
    assert_eq!(trio.acquire(&lock, &TERMS).unwrap_err(), Refusal::Contended);

    // One key gone is no loss, two of three are.
    let _: () = trio.servers[0].query(redis::cmd("DEL").arg(KEY));
    trio.runtime.block_on(async {
        assert!(guard.extend().await.is_ok());
        let _: () = trio.servers[1].query(redis::cmd("DEL").arg(KEY));
        timeout(PATIENCE, guard.lost()).await.expect("the loss is signalled");
    });
    assert!(guard.is_lost());
    assert_eq!(guard.validity(), Duration::ZERO);
    assert_eq!(keys_of(&trio.servers)[..2], [0, 0], "an extension creates nothing");
    trio.runtime.block_on(guard.release());
    trio.no_keys();
}

#[test]
fn without_renewal_the_end_of_the_validity_is_the_loss() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let terms = Terms {
        ttl: Duration::from_millis(300),
        ..TERMS
    };
    let guard = trio.acquire(&lock, &terms).unwrap();
    trio.runtime.block_on(async {
        timeout(PATIENCE, guard.lost()).await.expect("the loss is signalled");
        assert!(guard.is_lost());
        assert_eq!(guard.extend().await, Err(NotExtended::Lost));
    });
    eventually("all keys expired", || keys_of(&trio.servers) == [0, 0, 0]);
}

#[test]
fn an_extension_without_a_quorum_leaves_the_validity_as_it_is() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let guard = trio.acquire(&lock, &IMPATIENT).unwrap();
    trio.until("all three voted", async || guard.votes() == 3);
    trio.servers[1].pause();
    trio.servers[2].pause();
    let before = guard.validity();
    let failed = trio.runtime.block_on(guard.extend()).unwrap_err();
    assert_eq!(
        failed,
        NotExtended::NoQuorum {
            causes: vec![None, Some(Cause::Timeout), Some(Cause::Timeout)]
        }
    );
    assert!(!guard.is_lost());
    assert!(guard.validity() <= before);
    trio.servers[1].resume();
    trio.servers[2].resume();
    trio.until("it is extended again", async || guard.extend().await.is_ok());
    drop(guard);
    trio.no_keys();
}

#[test]
fn a_delete_that_is_owed_reaches_a_node_that_kept_the_key_through_its_death() {
    let _turn = serial();
    let mut trio = Trio::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let lock = trio.redlock();
    let guard = trio.acquire(&lock, &TERMS).unwrap();
    trio.until("all three voted", async || guard.votes() == 3);
    trio.kill(0);
    trio.servers[0].restart();
    assert_eq!(trio.servers[0].keys(), 1);
    trio.kill(0);
    let released = trio.runtime.block_on(guard.release());
    assert_eq!((released.deleted, released.unconfirmed), (2, 1));
    trio.servers[0].restart();
    trio.no_keys();
}

#[test]
fn a_killed_app_server_sends_nothing_and_its_keys_keep_their_ttl() {
    let _turn = serial();
    let trio = Trio::start();
    let (runtime, nodes) = app_server(&trio.servers);
    let lock = Lock::redlock(&nodes, 1);
    let gauges = lock.gauges();
    let terms = Terms {
        renew: Some(Duration::from_millis(5)),
        ..TERMS
    };
    let outside = runtime.block_on(lock.acquire(KEY, &terms)).unwrap();
    runtime.spawn({
        let lock = lock.clone();
        async move {
            let _inside = lock.acquire("other", &terms).await.unwrap();
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
    assert_eq!(keys_of(&trio.servers), [2, 2, 2]);
    for server in &trio.servers {
        assert!(server.query::<i64>(redis::cmd("PTTL").arg(KEY)) > 0);
    }
}

#[test]
fn waiting_until_expiry_gets_the_lock_of_a_holder_that_never_releases() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let holder = trio
        .acquire(
            &lock,
            &Terms {
                ttl: Duration::from_millis(500),
                ..TERMS
            },
        )
        .unwrap();
    let guard = trio
        .acquire(
            &lock,
            &Terms {
                wait: Wait::Queue,
                ..TERMS
            },
        )
        .unwrap();
    assert!(holder.is_lost());
    assert!(guard.waited());
    assert!(guard.attempts() >= 2);
    // Not by polling: one more attempt when the time came, a few if it was not quite over.
    assert!(guard.attempts() < 10, "{} attempts", guard.attempts());

    let hopeless = Terms {
        wait: Wait::Queue,
        deadline: Duration::from_millis(100),
        ..TERMS
    };
    assert_eq!(trio.acquire(&lock, &hopeless).unwrap_err(), Refusal::Contended);
    drop((holder, guard));
    trio.no_keys();
}

#[test]
fn terms_beyond_all_bounds_are_no_panic() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let endless = Terms {
        ttl: Duration::MAX,
        renew: Some(Duration::MAX),
        deadline: Duration::MAX,
        node_timeout: Duration::MAX,
        ..TERMS
    };
    let guard = trio.acquire(&lock, &endless).unwrap();
    let wait = Wait::Retry {
        retries: 1,
        delay: Duration::MAX,
        jitter: Duration::ZERO,
    };
    let nothing = Terms {
        ttl: Duration::ZERO,
        renew: Some(Duration::ZERO),
        wait,
        deadline: PATIENCE,
        ..endless
    };
    trio.acquire(&lock, &nothing).unwrap_err();
    trio.runtime.block_on(guard.release());
    trio.acquire(&lock, &nothing).unwrap_err();
    trio.no_keys();
}

#[test]
fn retries_are_bounded_by_their_number_and_by_the_deadline() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    let holder = trio.acquire(&lock, &TERMS).unwrap();
    let before = lock.gauges().attempts();
    let wait = Wait::Retry {
        retries: 3,
        delay: Duration::from_millis(1),
        jitter: Duration::ZERO,
    };
    assert_eq!(
        trio.acquire(&lock, &Terms { wait, ..TERMS }).unwrap_err(),
        Refusal::Contended
    );
    assert_eq!(lock.gauges().attempts() - before, 4);
    let brief = Terms {
        wait: RETRY,
        deadline: Duration::from_millis(50),
        ..TERMS
    };
    let refusal = trio.acquire(&lock, &brief).unwrap_err();
    assert!(
        matches!(refusal.outcome(), Outcome::Contended | Outcome::Unknown),
        "{refusal:?}"
    );
    drop(holder);
    let guard = trio.acquire(&lock, &Terms { wait: RETRY, ..TERMS }).unwrap();
    drop(guard);
    trio.no_keys();
}

#[test]
fn nodes_that_are_down_at_the_start_are_used_when_they_come() {
    let _turn = serial();
    let mut trio = Trio::start();
    trio.servers[0].kill();
    trio.servers[1].kill();
    let addrs: Vec<_> = trio.servers.iter().map(RedisServer::addr).collect();
    let nodes = trio.runtime.block_on(async {
        let nodes = Nodes::connect(&addrs, NodeOptions::default());
        assert_eq!(nodes.ready(Duration::from_millis(200)).await, 1);
        nodes
    });
    let lock = Lock::redlock(&nodes, 1);
    let refusal = trio.acquire(&lock, &TERMS).unwrap_err();
    assert_eq!(
        refusal,
        Refusal::NoQuorum {
            causes: vec![Some(Cause::Refused), Some(Cause::Refused), None]
        }
    );
    trio.servers[0].restart();
    trio.servers[1].restart();
    assert_eq!(trio.runtime.block_on(nodes.ready(PATIENCE)), 3);
    drop(trio.acquire(&lock, &TERMS).unwrap());
    drop((lock, nodes));
    trio.no_keys();
    // The connections of handles that are gone end: only those of the trio and of this question are left.
    for server in &trio.servers {
        trio.until("connections of nobody are closed", async || {
            let list: String = server.query(redis::cmd("CLIENT").arg("LIST"));
            list.lines().count() <= 2
        });
    }
}

#[test]
fn a_node_that_answers_with_an_error_is_a_cause_of_its_own() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = Lock::single(&trio.nodes, 0, 1);
    let _: () = trio.servers[0].query(redis::cmd("CONFIG").arg("SET").arg("min-replicas-to-write").arg(1));
    let refusal = trio.acquire(&lock, &TERMS).unwrap_err();
    let Refusal::NoQuorum { causes } = refusal else {
        panic!("{refusal:?}")
    };
    assert!(
        matches!(&causes[..], [Some(Cause::Error(text))] if text.starts_with("NOREPLICAS")),
        "{causes:?}"
    );
}

#[test]
fn acquires_that_wait_behind_others_of_their_own_app_server_do_not_blame_the_nodes() {
    let _turn = serial();
    let trio = Trio::start();
    let lock = trio.redlock();
    // Far more than nodes answer within the node timeout.
    let terms = Terms {
        node_timeout: Duration::from_millis(100),
        ..TERMS
    };
    trio.runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for task in 0..100_000 {
            let lock = lock.clone();
            tasks.spawn(async move { lock.acquire(&format!("k:{task}"), &terms).await });
        }
        let mut guards = Vec::new();
        while let Some(acquired) = tasks.join_next().await {
            guards.push(acquired.unwrap().unwrap());
        }
        assert_eq!(lock.gauges().holding(), 100_000);
        drop(guards);
        assert_eq!(trio.nodes.flush(PATIENCE).await, 3);
    });
    assert_eq!(keys_of(&trio.servers), [0, 0, 0]);
}
