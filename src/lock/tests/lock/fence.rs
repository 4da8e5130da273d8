//! Counters on lock nodes: what the two phases guarantee, and what they can't.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use crate::kit::trio::{KEY, Trio, app_server};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside};
use lockstorm_lock::Cause;
use lockstorm_lock::Nodes;
use lockstorm_lock::fence::{NotDrawn, QuorumCounter};
use redis::cmd;

/// Options of nodes that lose nothing by a kill.
const PERSISTENT: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

fn counter(nodes: &Nodes) -> QuorumCounter {
    QuorumCounter::new(nodes)
}

fn draw(trio: &Trio) -> Result<u64, NotDrawn> {
    trio.runtime.block_on(counter(&trio.nodes).draw(KEY, TEST_TIMEOUT))
}

/// Draws this many tokens, and returns the last.
fn drawn(trio: &Trio, times: usize) -> u64 {
    let numbers: Vec<u64> = (0..times).map(|_| draw(trio).expect("a number")).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    *numbers.last().expect("one at least")
}

/// The simpler way: `INCR` on all nodes that are up, and the highest reply counts.
fn incremented(up: &[&RedisServer], times: usize) -> u64 {
    let replies: Vec<_> = (0..times)
        .map(|_| {
            up.iter()
                .map(|server| server.query::<u64>(cmd("INCR").arg("simple")))
                .max()
        })
        .collect();
    replies.last().copied().flatten().expect("one at least")
}

fn restart(trio: &mut Trio, index: usize) {
    trio.servers[index].restart();
    let node = trio.nodes.subset(&[index]);
    assert_eq!(trio.runtime.block_on(node.ready(TEST_TIMEOUT)), 1);
}

#[test]
fn numbers_grow_by_one_while_nobody_interferes_and_each_key_has_its_own() {
    let _turn = beside();
    let trio = Trio::start();
    for expected in 1..=5 {
        assert_eq!(draw(&trio), Ok(expected));
    }
    let other = trio.runtime.block_on(counter(&trio.nodes).draw("other", TEST_TIMEOUT));
    assert_eq!(other, Ok(1));
    assert_eq!(trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT)), 3);
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
#[test]
fn a_node_that_was_away_brings_the_highest_increment_back_but_not_the_two_phases() {
    let _turn = beside();
    let mut trio = Trio::with(&PERSISTENT);

    trio.kill(2);
    assert_eq!(incremented(&[&trio.servers[0], &trio.servers[1]], 5), 5);
    assert_eq!(drawn(&trio, 5), 5);

    restart(&mut trio, 2);
    trio.kill(1);
    assert_eq!(incremented(&[&trio.servers[0], &trio.servers[2]], 5), 10);
    assert_eq!(drawn(&trio, 5), 10);

    restart(&mut trio, 1);
    trio.kill(0);
    assert_eq!(incremented(&[&trio.servers[1], &trio.servers[2]], 1), 6, "after 10");
    assert_eq!(drawn(&trio, 1), 11);

    restart(&mut trio, 0);
    assert_eq!(drawn(&trio, 3), 14);
}

/// No node is down for long, and each is killed many times: the numbers of a single caller only grow.
#[test]
fn numbers_grow_through_kills_and_restarts() {
    let _turn = beside();
    let mut trio = Trio::with(&PERSISTENT);
    let mut last = 0;
    for round in 0..9 {
        trio.servers[round % 3].kill();
        // The first draw may still meet the broken connection; the other two nodes answer.
        for _ in 0..20 {
            let number = draw(&trio).expect("a number");
            assert!(number > last, "{number} after {last} in round {round}");
            last = number;
        }
        restart(&mut trio, round % 3);
    }
    assert!(last >= 180);
}

#[test]
fn a_node_that_forgot_brings_numbers_back_that_only_a_bare_quorum_took() {
    let _turn = beside();
    let mut trio = Trio::start();
    assert_eq!(drawn(&trio, 5), 5);
    assert_eq!(trio.runtime.block_on(trio.nodes.flush(TEST_TIMEOUT)), 3);
    // All three took it, so one may forget.
    trio.kill(0);
    restart(&mut trio, 0);
    trio.kill(1);
    assert_eq!(drawn(&trio, 1), 6);

    // Two took that number, and the third never did. One of the two forgot it, so it is lost.
    restart(&mut trio, 1);
    trio.kill(2);
    restart(&mut trio, 2);
    trio.kill(0);
    assert_eq!(draw(&trio), Ok(1), "the documented limit");
}

#[test]
fn callers_at_the_same_time_never_draw_the_same_number() {
    let _turn = beside();
    let trio = Trio::start();
    let numbers: Vec<u64> = thread::scope(|scope| {
        let caller = || {
            let (runtime, nodes) = app_server(&trio.servers);
            let counter = counter(&nodes);
            let one = async || counter.draw(KEY, TEST_TIMEOUT).await.expect("a number");
            let numbers: Vec<u64> = (0..25).map(|_| runtime.block_on(one())).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
            numbers
        };
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(caller)).collect();
        callers
            .into_iter()
            .flat_map(|caller| caller.join().expect("a caller"))
            .collect()
    });
    let mut unique = numbers.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 100, "{numbers:?}");
    let last = unique[99];
    assert!(draw(&trio).expect("a number") > last);
}

#[test]
fn a_caller_that_others_outrun_until_its_deadline_gets_that_error() {
    let _turn = beside();
    let trio = Trio::start();
    let (start, outrun) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (runtime, nodes) = app_server(&trio.servers);
                let counter = counter(&nodes);
                while !outrun.load(Relaxed) && start.elapsed() < TEST_TIMEOUT {
                    let number = runtime.block_on(counter.draw(KEY, Duration::from_millis(5)));
                    if number == Err(NotDrawn::Contended) {
                        outrun.store(true, Relaxed);
                    }
                }
            });
        }
    });
    assert!(outrun.into_inner());
    draw(&trio).expect("without competition it succeeds");
}

#[test]
fn nobody_waits_for_a_paused_node() {
    let _turn = beside();
    let trio = Trio::start();
    trio.servers[1].pause();
    // Waiting for the node would take two patiences.
    let numbers = trio.runtime.block_on(async {
        let counter = counter(&trio.nodes);
        tokio::time::timeout(TEST_TIMEOUT / 2, async {
            (
                counter.draw(KEY, TEST_TIMEOUT).await,
                counter.draw(KEY, TEST_TIMEOUT).await,
            )
        })
        .await
    });
    assert_eq!(numbers, Ok((Ok(1), Ok(2))));
    trio.servers[1].resume();
}

#[test]
fn without_a_quorum_there_is_a_cause_for_each_node() {
    let _turn = beside();
    let mut trio = Trio::start();
    trio.kill(0);
    trio.servers[2].query::<()>(cmd("SET").arg(KEY).arg("no number"));
    let Err(NotDrawn::NoQuorum { causes }) = draw(&trio) else {
        panic!("no quorum")
    };
    assert_eq!((&causes[0], &causes[1]), (&Some(Cause::Refused), &None));
    assert!(matches!(&causes[2], Some(Cause::Error(_))), "{causes:?}");

    // One node does not answer until the deadline.
    trio.servers[1].pause();
    let counter = QuorumCounter::new(&trio.nodes.subset(&[1]));
    let silent = trio.runtime.block_on(counter.draw(KEY, Duration::from_millis(100)));
    let causes = vec![Some(Cause::Timeout)];
    assert_eq!(silent, Err(NotDrawn::NoQuorum { causes }));
    assert_eq!(silent.expect_err("no number").to_string(), "no number: node 1 timeout");
    trio.servers[1].resume();
}
