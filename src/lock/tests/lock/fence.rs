//! Counters on lock nodes: what the two phases guarantee, and what they can't.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::kit::trio::{KEY, PERSISTENT, Trio, elsewhere};
use crate::kit::{RedisServer, TEST_TIMEOUT};
use lockstorm_lock::fence::{NotDrawn, QuorumCounter};
use lockstorm_lock::{Cause, Nodes};
use redis::cmd;

fn counter(nodes: &Nodes) -> QuorumCounter {
    QuorumCounter::new(nodes)
}

async fn draw(trio: &Trio) -> Result<u64, NotDrawn> {
    counter(&trio.nodes).draw(KEY, TEST_TIMEOUT).await
}

/// Draws this many tokens, and returns the last.
async fn drawn(trio: &Trio, times: usize) -> u64 {
    let mut numbers = Vec::new();
    for _ in 0..times {
        numbers.push(draw(trio).await.expect("a number"));
    }
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    *numbers.last().expect("one at least")
}

/// The simpler way: `INCR` on all nodes that are up, and the highest reply counts.
fn incremented(up: &[&RedisServer], times: usize) -> u64 {
    let increment = |_| {
        up.iter()
            .map(|server| server.query::<u64>(cmd("INCR").arg("simple")))
            .max()
    };
    (0..times).filter_map(increment).max().expect("one at least")
}

async fn restart(trio: &mut Trio, index: usize) {
    trio.servers[index].restart();
    let node = trio.nodes.subset(&[index]);
    assert_eq!(node.ready(TEST_TIMEOUT).await, 1);
}

#[tokio::test]
async fn numbers_grow_by_one_while_nobody_interferes_and_each_key_has_its_own() {
    let trio = Trio::start().await;
    for expected in 1..=5 {
        assert_eq!(draw(&trio).await, Ok(expected));
    }
    let other = counter(&trio.nodes).draw("other", TEST_TIMEOUT).await;
    assert_eq!(other, Ok(1));
    trio.flushed().await;
    for server in &trio.servers {
        assert_eq!(
            server.query::<u64>(cmd("GET").arg(KEY)),
            5,
            "all nodes take the number that a quorum took"
        );
        assert_eq!(server.query::<i64>(cmd("PTTL").arg(KEY)), -1, "for ever");
    }
}

/// Nodes go down and come back in turn, and none forgets anything.
#[tokio::test]
async fn a_node_that_was_away_brings_the_highest_increment_back_but_not_the_two_phases() {
    let mut trio = Trio::with(&PERSISTENT).await;

    trio.kill(2).await;
    assert_eq!(incremented(&[&trio.servers[0], &trio.servers[1]], 5), 5);
    assert_eq!(drawn(&trio, 5).await, 5);

    restart(&mut trio, 2).await;
    trio.kill(1).await;
    assert_eq!(incremented(&[&trio.servers[0], &trio.servers[2]], 5), 10);
    assert_eq!(drawn(&trio, 5).await, 10);

    restart(&mut trio, 1).await;
    trio.kill(0).await;
    assert_eq!(incremented(&[&trio.servers[1], &trio.servers[2]], 1), 6, "after 10");
    assert_eq!(drawn(&trio, 1).await, 11);

    restart(&mut trio, 0).await;
    assert_eq!(drawn(&trio, 3).await, 14);
}

/// No node is down for long, and each is killed many times: the numbers of a single caller only grow.
#[tokio::test]
async fn numbers_grow_through_kills_and_restarts() {
    let mut trio = Trio::with(&PERSISTENT).await;
    let mut last = 0;
    for round in 0..9 {
        trio.servers[round % 3].kill();
        // The first draw may still meet the broken connection; the other two nodes answer.
        for _ in 0..20 {
            let number = draw(&trio).await.expect("a number");
            assert!(number > last, "{number} after {last} in round {round}");
            last = number;
        }
        restart(&mut trio, round % 3).await;
    }
    assert!(last >= 180);
}

#[tokio::test]
async fn a_node_that_forgot_brings_numbers_back_that_only_a_bare_quorum_took() {
    let mut trio = Trio::start().await;
    assert_eq!(drawn(&trio, 5).await, 5);
    trio.flushed().await;
    // All three took it, so one may forget.
    trio.kill(0).await;
    restart(&mut trio, 0).await;
    trio.kill(1).await;
    assert_eq!(drawn(&trio, 1).await, 6);

    // Two took that number, and the third never did. One of the two forgot it, so it is lost.
    restart(&mut trio, 1).await;
    trio.kill(2).await;
    restart(&mut trio, 2).await;
    trio.kill(0).await;
    assert_eq!(draw(&trio).await, Ok(1), "the documented limit");
}

#[tokio::test]
async fn callers_at_the_same_time_never_draw_the_same_number() {
    let trio = Trio::start().await;
    let callers = [(); 4].map(|()| {
        elsewhere(&trio.servers, async |nodes| {
            let counter = counter(&nodes);
            let mut numbers = Vec::new();
            for _ in 0..25 {
                numbers.push(counter.draw(KEY, TEST_TIMEOUT).await.expect("a number"));
            }
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
            numbers
        })
    });
    let numbers: Vec<u64> = callers
        .into_iter()
        .flat_map(|caller| caller.join().expect("a caller"))
        .collect();
    let mut unique = numbers.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 100, "{numbers:?}");
    let last = unique[99];
    assert!(draw(&trio).await.expect("a number") > last);
}

#[tokio::test]
async fn a_caller_that_others_outrun_until_its_deadline_gets_that_error() {
    let trio = Trio::start().await;
    let (start, outrun) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let callers = [(); 4].map(|()| {
        let outrun = Arc::clone(&outrun);
        elsewhere(&trio.servers, async move |nodes| {
            let counter = counter(&nodes);
            while !outrun.load(Relaxed) && start.elapsed() < TEST_TIMEOUT {
                if counter.draw(KEY, Duration::from_millis(5)).await == Err(NotDrawn::Contended) {
                    outrun.store(true, Relaxed);
                }
            }
        })
    });
    for caller in callers {
        caller.join().expect("a caller");
    }
    assert!(outrun.load(Relaxed));
    draw(&trio).await.expect("without competition it succeeds");
}

#[tokio::test]
async fn nobody_waits_for_a_paused_node() {
    let trio = Trio::start().await;
    trio.servers[1].pause();
    // Waiting for the node would take two patiences.
    let counter = counter(&trio.nodes);
    let draw = || counter.draw(KEY, TEST_TIMEOUT);
    let numbers = tokio::time::timeout(TEST_TIMEOUT / 2, async { (draw().await, draw().await) }).await;
    assert_eq!(numbers, Ok((Ok(1), Ok(2))));
    trio.servers[1].resume();
}

#[tokio::test]
async fn without_a_quorum_there_is_a_cause_for_each_node() {
    let mut trio = Trio::start().await;
    trio.kill(0).await;
    trio.servers[2].query::<()>(cmd("SET").arg(KEY).arg("no number"));
    let Err(NotDrawn::NoQuorum { causes }) = draw(&trio).await else {
        panic!("no quorum")
    };
    assert_eq!((&causes[0], &causes[1]), (&Some(Cause::Refused), &None));
    assert!(matches!(&causes[2], Some(Cause::Error(_))), "{causes:?}");

    // One node does not answer until the deadline.
    trio.servers[1].pause();
    let counter = QuorumCounter::new(&trio.nodes.subset(&[1]));
    let silent = counter.draw(KEY, Duration::from_millis(100)).await;
    let causes = vec![Some(Cause::Timeout)];
    assert_eq!(silent, Err(NotDrawn::NoQuorum { causes }));
    assert_eq!(silent.expect_err("no number").to_string(), "no number: node 1 timeout");
    trio.servers[1].resume();
}
