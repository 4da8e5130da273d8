//! Waiting in line for a lock, within one app server and among several, on real servers.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use crate::kit::listener::Listener;
use crate::kit::trio::{IMPATIENT, KEY, OPTIONS, QUEUE, Trio, addrs_of, elsewhere};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, in_time, until};
use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeAddress, NodeOptions, Nodes, Outcome, Redlock, Refusal, Wait};
use redis::cmd;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::{Instant, sleep};

/// A waiter that hears nothing asks again after this time at the earliest.
const EARLIEST_POLL: Duration = Duration::from_millis(50);

/// Another app server on the same nodes, in the same runtime.
async fn another(trio: &Trio) -> Lock {
    let nodes = Nodes::connect(&addrs_of(&trio.servers), NodeOptions::default());
    nodes.ready(Duration::from_secs(1)).await;
    Lock::redlock(&nodes, 2)
}

/// Waits until so many wait for this lock.
async fn until_waiting(lock: &Lock, number: usize) {
    until("they wait", async || lock.gauges().waiting() == number).await;
}

fn wait(lock: &Lock, options: AcquireOptions) -> JoinHandle<(Result<Guard, Refusal>, Instant)> {
    wait_for(lock, KEY.into(), options)
}

fn wait_for(lock: &Lock, key: Vec<u8>, options: AcquireOptions) -> JoinHandle<(Result<Guard, Refusal>, Instant)> {
    let lock = lock.clone();
    tokio::spawn(async move {
        let acquired = lock.acquire(key, &options).await;
        (acquired, Instant::now())
    })
}

/// Whether a release by `holder` wakes a waiter in `waiter`, so that it has the lock before it would have asked again.
async fn release_wakes(holder: &Lock, waiter: &Lock, end: impl AsyncFn(Guard)) -> bool {
    end_wakes(holder.acquire(KEY, &QUEUE).await.unwrap(), waiter, end).await
}

async fn end_wakes(guard: Guard, waiter: &Lock, end: impl AsyncFn(Guard)) -> bool {
    let start = Instant::now();
    let waiting = wait_for(waiter, guard.key().to_owned(), QUEUE);
    until_waiting(waiter, 1).await;
    // Waits for its subscriptions to be opened.
    sleep(Duration::from_millis(15)).await;
    end(guard).await;
    let (guard, acquired) = waiting.await.unwrap();
    guard.unwrap().release().await;
    acquired - start < EARLIEST_POLL
}

async fn release(guard: Guard) {
    guard.release().await;
}

/// A machine that stops for some milliseconds may be late once, but not every time.
async fn in_one_of_many(what: &str, attempt: impl AsyncFn() -> bool) {
    for _ in 0..100 {
        if attempt().await {
            return;
        }
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn waiters_of_one_app_server_cost_each_node_at_most_a_set_and_a_release_each() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let mut tasks = JoinSet::new();
    for _ in 0..40 {
        let lock = lock.clone();
        tasks.spawn(async move {
            for _ in 0..5 {
                let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
                assert_eq!(guard.attempts(), 1);
                yield_now().await;
                guard.release().await;
            }
        });
    }
    tasks.join_all().await;
    trio.flushed().await;
    assert_eq!(lock.gauges().attempts(), 200);
    let mut sets = 0;
    for server in &trio.servers {
        let [set, release, others @ ..] = ["set", "evalsha", "ping", "subscribe"].map(|command| server.calls(command));
        // What a node that falls behind was not sent before the release is withdrawn. The flush waits for an answer, twice.
        assert!(set <= 200 && set == release, "{set}, {release}");
        assert_eq!(others, [2, 0]);
        sets += set;
    }
    assert!(sets >= 400, "{sets}");
}

#[tokio::test]
async fn a_release_wakes_another_app_server() {
    let trio = Trio::start().await;
    let (one, other) = (trio.lock.clone(), another(&trio).await);
    in_one_of_many("a release", async || release_wakes(&one, &other, release).await).await;
    in_one_of_many("a drop", async || {
        release_wakes(&other, &one, async |guard| drop(guard)).await
    })
    .await;
    in_one_of_many("a release of what is no text", async || {
        let guard = one.acquire(b"\0\xff\r\n\xfe", &QUEUE).await.unwrap();
        assert_eq!(guard.key(), b"\0\xff\r\n\xfe");
        end_wakes(guard, &other, release).await
    })
    .await;
    trio.no_keys().await;
}

#[tokio::test]
async fn a_lock_that_was_tried_for_wakes_those_in_line_as_well() {
    let trio = Trio::start().await;
    let (waiter, nodes) = (another(&trio).await, trio.nodes.clone());
    let redlock = Redlock::builder(nodes)
        .ttl(OPTIONS.ttl)
        .wait_up_to(TEST_TIMEOUT)
        .build()
        .unwrap();
    in_one_of_many("a release", async || {
        let guard = redlock.try_acquire(KEY).await.unwrap();
        assert_eq!(redlock.try_acquire(KEY).await.unwrap_err(), Refusal::Contended);
        end_wakes(guard, &waiter, release).await
    })
    .await;
    trio.no_keys().await;
}

#[tokio::test]
async fn a_release_wakes_others_while_a_node_is_paused_or_down_or_its_news_were_cut_off() {
    let mut trio = Trio::start().await;
    let (one, other) = (trio.lock.clone(), another(&trio).await);
    let woken = async || release_wakes(&one, &other, release).await;
    let wakes = async || in_one_of_many("a release", woken).await;
    wakes().await;
    for server in &trio.servers {
        let kill = ["KILL", "TYPE", "pubsub"];
        assert!(server.query::<usize>(cmd("CLIENT").arg(&kill)) > 0);
    }
    wakes().await;
    trio.servers[0].pause();
    wakes().await;
    trio.servers[0].resume();
    trio.kill(1).await;
    wakes().await;
    trio.servers[1].restart();
    trio.no_keys().await;
}

#[tokio::test]
async fn waiters_follow_a_node_to_another_address() {
    let _turn = beside();
    let servers: Vec<_> = (0..2).map(|_| RedisServer::start()).collect();
    let address = watch::Sender::new(NodeAddress::from(servers[0].addr()));
    let app_server = |seed| {
        let nodes = Nodes::follow(vec![address.subscribe()], NodeOptions::default());
        (Lock::redlock(&nodes, seed), nodes)
    };
    let ((one, its), (other, _)) = (app_server(1), app_server(2));
    in_one_of_many("a release", async || release_wakes(&one, &other, release).await).await;
    let held = one.acquire(KEY, &QUEUE).await.unwrap();
    let waiting = wait(&other, QUEUE);
    until_waiting(&other, 1).await;
    address.send_replace(servers[1].addr().into());
    // The new server knows of no holder.
    let guard = waiting.await.unwrap().0.unwrap();
    assert_eq!(servers[1].keys(), 1);
    held.release().await;
    assert_eq!((its.flush(TEST_TIMEOUT).await, servers[1].keys()), (1, 1));
    guard.release().await;
    in_one_of_many("a release there", async || release_wakes(&one, &other, release).await).await;
    eventually("nothing stays", || servers[1].keys() == 0);
}

#[tokio::test]
async fn a_lock_whose_holder_died_is_granted_only_after_its_ttl() {
    let trio = Trio::start().await;
    let ttl = Duration::from_millis(700);
    let start = Instant::now();
    let (acquired, is_acquired) = oneshot::channel();
    let (die, dies) = oneshot::channel::<()>();
    let holder = elsewhere(&trio.servers, async move |nodes| {
        let options = QUEUE.ttl(ttl);
        let guard = Lock::redlock(&nodes, 1).acquire(KEY, &options).await.unwrap();
        acquired.send(()).unwrap();
        dies.await.unwrap();
        // Nothing can be released when its runtime is gone.
        guard
    });
    is_acquired.await.unwrap();
    let waiting = wait(&trio.lock, QUEUE);
    until_waiting(&trio.lock, 1).await;
    die.send(()).unwrap();
    let dead = holder.join().unwrap();
    let (guard, _) = waiting.await.unwrap();
    assert!(start.elapsed() >= ttl);
    guard.unwrap().release().await;
    drop(dead);
    trio.no_keys().await;
}

#[tokio::test]
async fn a_lock_that_is_held_beyond_its_ttl_goes_on_to_the_next_of_its_own_app_server() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let brief = QUEUE.ttl(Duration::from_millis(300));
    let late = trio.acquire(&brief).await.unwrap();
    let (second, third) = (wait(&lock, QUEUE), wait(&lock, QUEUE));
    let (second, _) = second.await.unwrap();
    assert!(late.is_lost());
    // Its release does not concern the others.
    late.release().await;
    sleep(Duration::from_millis(20)).await;
    assert!(!third.is_finished());
    second.unwrap().release().await;
    third.await.unwrap().0.unwrap().release().await;
    trio.no_keys().await;
}

#[tokio::test]
async fn waiters_behind_hear_of_an_outage_and_not_of_contention() {
    let mut trio = Trio::start().await;
    let lock = trio.lock.clone();
    trio.kill(0).await;
    trio.kill(1).await;
    let options = IMPATIENT.wait(Wait::Queue).timeout(Duration::from_millis(400));
    for waiting in [wait(&lock, options), wait(&lock, options), wait(&lock, options)] {
        let (refused, _) = waiting.await.unwrap();
        assert_eq!(refused.unwrap_err().outcome(), Outcome::NoQuorum);
    }
    assert_eq!((lock.gauges().waiting(), lock.gauges().holding()), (0, 0));
    eventually("nothing stays on the survivor", || trio.servers[2].keys() == 0);
}

#[tokio::test]
async fn a_waiter_that_gives_up_its_turn_passes_it_on() {
    let trio = Trio::start().await;
    let (one, other) = (trio.lock.clone(), another(&trio).await);
    let guard = one.acquire(KEY, &QUEUE).await.unwrap();
    let (first, second) = (wait(&other, QUEUE), wait(&other, QUEUE));
    until_waiting(&other, 2).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    guard.release().await;
    second.await.unwrap().0.unwrap().release().await;
    assert_eq!((other.gauges().waiting(), other.gauges().holding()), (0, 0));
    trio.no_keys().await;
}

/// Polls an acquire until it waits, and never again unless the caller does.
async fn begin(lock: &Lock, acquire: Pin<&mut impl Future<Output = Result<Guard, Refusal>>>, waiting: usize) {
    tokio::select! {
        biased;
        _ = acquire => panic!("somebody else has the lock"),
        () = until_waiting(lock, waiting) => {}
    }
}

#[tokio::test]
async fn callers_that_nobody_polls_do_not_keep_others_from_the_lock() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
    let mut unpolled = [0, 1].map(|_| Box::pin(lock.acquire(KEY, &QUEUE)));
    for (n, acquire) in unpolled.iter_mut().enumerate() {
        begin(&lock, acquire.as_mut(), n + 1).await;
    }
    let waiting = wait(&lock, QUEUE);
    until_waiting(&lock, 3).await;
    guard.release().await;
    let (guard, _) = in_time("the turn of the one that is polled", waiting).await.unwrap();
    guard.unwrap().release().await;
    for acquire in unpolled {
        acquire.await.unwrap().release().await;
    }
    trio.no_keys().await;
}

#[tokio::test]
async fn a_caller_that_is_too_slow_for_its_ttl_does_not_keep_others_from_the_lock() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    let hopeless = QUEUE.ttl(Duration::from_millis(1));
    let mut waiting: Vec<_> = (0..3).map(|_| wait(&lock, hopeless)).collect();
    until("one was too slow", async || lock.gauges().attempts() > 0).await;
    let guard = in_time("our turn", lock.acquire(KEY, &QUEUE)).await.unwrap();
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    let brief = QUEUE.timeout(Duration::from_millis(50));
    assert_eq!(lock.acquire(KEY, &brief).await.unwrap_err(), Refusal::Contended);
    waiting.drain(..).for_each(|waiting| waiting.abort());
    guard.release().await;
    trio.no_keys().await;
}

#[tokio::test]
async fn app_servers_that_wait_no_more_say_so_once() {
    let trio = Trio::start().await;
    let lock = another(&trio).await;
    let guard = trio.lock.acquire(KEY, &QUEUE).await.unwrap();
    let listener = Listener::start(&trio.servers[0]);
    let says = |what: &str| listener.waits().iter().filter(|said| said.ends_with(what)).count();
    let waiting = [wait(&lock, QUEUE), wait(&lock, QUEUE)];
    until("it says that it waits", async || says("") > 0).await;
    until_waiting(&lock, 2).await;
    for waiting in waiting {
        assert_eq!(says(" -"), 0);
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
    }
    until("it says that it does not", async || says(" -") > 0).await;
    guard.release().await;
    assert_eq!(says(" -"), 1);
    trio.no_keys().await;
}

#[tokio::test]
async fn app_servers_that_died_are_waited_for_once() {
    let trio = Trio::start().await;
    let (one, other) = (trio.lock.clone(), another(&trio).await);
    let (channel, number) = (format!("lockstorm:released:{KEY}"), Cell::new(0));
    in_one_of_many("the second hand-off is faster than the first", async || {
        release_wakes(&one, &other, release).await;
        let mut took = [Duration::ZERO; 2];
        let mut guard = one.acquire(KEY, &QUEUE).await.unwrap();
        let mut announced = Instant::now();
        for (n, took) in took.iter_mut().enumerate() {
            let waiting = wait(&other, QUEUE);
            until_waiting(&other, 1).await;
            sleep(Duration::from_millis(15)).await;
            for id in (1..=30).filter(|_| n == 0) {
                announced = Instant::now();
                number.set(number.get() + 1);
                let dead = format!("waiting {id:016x} {} 9000000", number.get());
                let _: usize = trio.servers[0].query(cmd("PUBLISH").arg(&channel).arg(dead));
            }
            let released = Instant::now();
            guard.release().await;
            let (acquired, at) = waiting.await.unwrap();
            *took = at - released;
            acquired.unwrap().release().await;
            guard = one.acquire(KEY, &QUEUE).await.unwrap();
        }
        guard.release().await;
        // Later they are forgotten anyway.
        took[1] * 3 < took[0] && announced.elapsed() < Duration::from_millis(200)
    })
    .await;
}

#[tokio::test]
async fn a_user_without_channel_permissions_can_still_wait() {
    let trio = Trio::start().await;
    for server in &trio.servers {
        let rules = ["SETUSER", "default", "resetchannels", "-publish", "-subscribe"];
        let _: () = server.query(cmd("ACL").arg(&rules));
    }
    let (one, other) = (trio.lock.clone(), another(&trio).await);
    for _ in 0..5 {
        let guard = one.acquire(KEY, &QUEUE).await.unwrap();
        let waiting = wait(&other, QUEUE);
        until_waiting(&other, 1).await;
        let released = guard.release().await;
        assert_eq!((released.gone, released.unconfirmed <= 1), (0, true), "{released:?}");
        waiting.await.unwrap().0.unwrap().release().await;
    }
    trio.no_keys().await;
}

#[tokio::test]
async fn an_app_server_that_always_wants_the_lock_lets_others_have_it() {
    let trio = Trio::start().await;
    let cycles = Arc::new(AtomicUsize::new(0));
    let (end, ended) = oneshot::channel::<()>();
    let greedy = elsewhere(&trio.servers, {
        let cycles = Arc::clone(&cycles);
        async move |nodes| {
            let lock = Lock::redlock(&nodes, 3);
            let work = async {
                loop {
                    let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
                    sleep(Duration::from_millis(2)).await;
                    guard.release().await;
                    cycles.fetch_add(1, SeqCst);
                }
            };
            tokio::select! {
                () = work => {}
                _ = ended => {}
            }
        }
    });
    eventually("the other app server is at work", || cycles.load(SeqCst) > 10);
    let lock = trio.lock.clone();
    for _ in 0..20 {
        let guard = in_time("our turn", lock.acquire(KEY, &QUEUE)).await;
        guard.unwrap().release().await;
    }
    end.send(()).unwrap();
    greedy.join().unwrap();
}

#[tokio::test]
async fn app_servers_take_turns() {
    let trio = Trio::alone().await;
    let (end, start) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(3)));
    let servers = [0, 1, 2].map(|seed| {
        let (end, start) = (Arc::clone(&end), Arc::clone(&start));
        elsewhere(&trio.servers, async move |nodes| {
            let (lock, cycles) = (Lock::redlock(&nodes, seed), Cell::new(0));
            start.wait();
            let task = async || {
                while !end.load(SeqCst) {
                    let guard = lock.acquire(KEY, &QUEUE).await.unwrap();
                    sleep(Duration::from_millis(1)).await;
                    guard.release().await;
                    cycles.set(cycles.get() + 1);
                    if cycles.get() == 100 {
                        end.store(true, SeqCst);
                    }
                }
            };
            tokio::join!(task(), task(), task(), task());
            nodes.flush(TEST_TIMEOUT).await;
            (cycles.get(), lock.gauges().attempts())
        })
    });
    let counts: Vec<(u64, u64)> = servers.into_iter().map(|server| server.join().unwrap()).collect();
    let (least, most) = (counts.iter().min().unwrap().0, counts.iter().max().unwrap().0);
    assert!(least * 2 > most, "cycles and attempts of each: {counts:?}");
    let attempts: u64 = counts.iter().map(|(_, attempts)| attempts).sum();
    let cycles: u64 = counts.iter().map(|(cycles, _)| cycles).sum();
    assert!(attempts <= cycles * 8, "cycles and attempts of each: {counts:?}");
    trio.no_keys().await;
}
