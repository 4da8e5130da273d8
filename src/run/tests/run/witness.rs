//! The figures of a load against witnesses that are not our code: what nodes report that they run (`MONITOR`), and what
//! SQL says about the ledger. Real lab, real swarm. Counts must agree exactly; lateness is not asserted.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use lockstorm_data::metrics::{Count, Entry, Figures, Point, ServerLoad, Time};
use lockstorm_data::model::{Condition, Fault};
use lockstorm_kit::lab::free_ports;
use lockstorm_kit::play::{Run, arm, effects, server};
use lockstorm_kit::scenario::scenario;
use lockstorm_kit::{alone, beside, runtime};
use lockstorm_run::Record;
use sqlx::Connection;

/// What was seen of a run from outside.
struct Outside {
    /// By host, what the app servers sent and what was sent after the load: `SET`s of lock keys, and the scripts (or native
    /// commands) that take them back.
    nodes: Vec<(Seen, Seen)>,
    /// By arm: all orders, and those marked as measured.
    orders: Vec<(u64, u64)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Seen {
    sets: u64,
    deletes: u64,
}

/// The products of the stock; each has a key.
const PRODUCTS: u64 = 500;

/// A run of two arms on two app servers. Each request sells a unit; there is plenty of stock.
fn text(swarm: &str, rest: &str, port: u16) -> String {
    format!(
        r#"
title = "witness"
{rest}
[lab]
port = {port}
password = "off"
[swarm]
servers = 2
{swarm}
[workload]
kind     = "inventory"
products = {PRODUCTS}
stock    = 100000
hold     = {{ median = "1ms", sigma = 0.3 }}
[[arm]]
name = "local"
lock = "local"
timeout = "60s"
[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "60s"
node_timeout = "20s"
timeout = "60s"
wait = {{ retries = 10000, delay = "5ms", jitter = "5ms" }}
"#
    )
}

/// What must be true for every arm of every run.
fn laws(record: &Record) {
    for arm in &record.arms {
        let figures = &arm.figures;
        let parts = figures.counts[Count::Completed] + figures.dropped + figures.unfinished + figures.never_begun;
        assert_eq!(figures.offered, parts, "{}: {figures:?}", arm.name);
        let servers = |of: fn(&ServerLoad) -> u64| figures.servers.iter().map(of).sum::<u64>();
        let series = |of: fn(&Point) -> u64| {
            let measured = arm.series.iter().filter(|point| point.time >= 0);
            measured.map(of).sum::<u64>() + of(&arm.after_end)
        };
        for (what, parts, whole) in [
            (
                "completed by server",
                servers(|server| server.completed),
                figures.counts[Count::Completed],
            ),
            (
                "orders by server",
                servers(|server| server.orders),
                figures.booked(Entry::Orders),
            ),
            (
                "completed",
                series(|point| point.counts[Count::Completed]),
                figures.counts[Count::Completed],
            ),
            (
                "orders",
                series(|point| point.ledger[Entry::Orders]),
                figures.booked(Entry::Orders),
            ),
            (
                "acquired",
                series(|point| point.outcomes.acquired),
                figures.outcomes.acquired,
            ),
            (
                "late",
                series(|point| point.counts[Count::Late]),
                figures.counts[Count::Late],
            ),
            ("offered", series(|point| point.offered), figures.offered),
        ] {
            assert_eq!(parts, whole, "{}: {what}", arm.name);
        }
        let done = record
            .scenario
            .swarm
            .requests
            .is_some_and(|requests| figures.counts[Count::Completed] + figures.dropped >= requests);
        assert_eq!(figures.finish.is_some(), done, "{}: {figures:?}", arm.name);
        let last = arm.series.iter().map(|point| point.time).max().unwrap_or(0);
        let last = last as f64;
        assert!(last < record.elapsed, "{}: a point of second {last}", arm.name);
    }
}

/// Every measured request sold one unit, so the numbers of orders, acquires, votes and requests must be equal.
fn one_order_for_each(figures: &Figures, locked: bool) {
    let completed = figures.counts[Count::Completed];
    assert_eq!(figures.booked(Entry::Orders), completed, "{figures:?}");
    let others = [Count::SoldOut, Count::Errors, Count::GaveUp].map(|count| figures.counts[count]);
    assert_eq!(others, [0; 3], "{figures:?}");
    assert_eq!(figures.times[Time::Hold].count, completed);
    assert_eq!(figures.answered, completed);
    assert_eq!(figures.times[Time::Response].count, completed);
    if locked {
        assert_eq!(figures.outcomes.acquired, completed, "{figures:?}");
        assert_eq!(figures.votes_at_release.iter().sum::<u64>(), completed, "{figures:?}");
        assert_eq!(figures.votes_in_the_end.iter().sum::<u64>(), completed, "{figures:?}");
        assert_eq!(
            figures.attempts, figures.nodes[0].sets,
            "each attempt is a SET on each node"
        );
        // A key that a node granted is taken back there; a key that it refused for another holder is not.
        let granted: u64 = (0..)
            .zip(&figures.votes_in_the_end)
            .map(|(votes, locks)| votes * locks)
            .sum();
        let deletes: u64 = figures.nodes.iter().map(|node| node.deletes).sum();
        assert!(deletes >= granted, "{figures:?}");
        assert!(
            figures.nodes.iter().all(|node| node.deletes <= figures.attempts),
            "{figures:?}"
        );
    }
}

/// The commands that a node reports it runs, from its first answer until it ends: `MONITOR`.
struct Monitor {
    /// `CLOCK_MONOTONIC` in microseconds after it had begun.
    since: Option<i64>,
    /// What each client has sent, in the order of their first commands. The last one tried the keys after the load.
    clients: Vec<(String, Seen)>,
}

impl Monitor {
    /// What the app servers have sent, and what was sent after the load.
    fn split(&self) -> (Seen, Seen) {
        let (last, servers) = self.clients.split_last().expect("a client has sent commands");
        let sum = servers.iter().fold(Seen::default(), |sum, (_, seen)| Seen {
            sets: sum.sets + seen.sets,
            deletes: sum.deletes + seen.deletes,
        });
        (sum, last.1)
    }
}

fn monitor(port: u16, over: Arc<AtomicBool>) -> JoinHandle<Monitor> {
    std::thread::spawn(move || {
        let mut clients: Vec<(String, Seen)> = Vec::new();
        let mut since = None;
        while since.is_none() && !over.load(Relaxed) {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            if stream.write_all(b"MONITOR\r\n").is_err() {
                continue;
            }
            for line in BufReader::new(stream).lines() {
                // The node has ended.
                let Ok(line) = line else { break };
                if line == "+OK" {
                    since = Some(monotonic());
                }
                if line.contains(" lua] ") {
                    continue;
                }
                let word = line.split('"').nth(1).unwrap_or_default().to_uppercase();
                let (sets, deletes) = match word.as_str() {
                    "SET" if line.contains("\"redlock:") => (1, 0),
                    // A connection begins with a script that asks whether scripts may be run.
                    "EVALSHA" | "EVAL" | "DELIFEQ" | "DELEX" if line.contains("\"redlock:") => (0, 1),
                    _ => continue,
                };
                // `1339518083.107412 [0 127.0.0.1:60866] "SET" …`
                let address = line.split(['[', ']']).nth(1).unwrap_or_default();
                let client = clients.iter().position(|(client, _)| client == address);
                let client = client.unwrap_or_else(|| {
                    clients.push((address.to_owned(), Seen::default()));
                    clients.len() - 1
                });
                clients[client].1.sets += sets;
                clients[client].1.deletes += deletes;
            }
        }
        Monitor { since, clients }
    })
}

fn monotonic() -> i64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("a clock");
    Duration::from(now).as_micros().try_into().expect("a small number")
}

/// Plays a run under `MONITOR`, and reads the ledgers by SQL when it is over. `None` if `MONITOR` came too late.
fn play(swarm: &str, rest: &str) -> Option<(Record, Outside)> {
    let port = free_ports(4);
    let over = Arc::new(AtomicBool::new(false));
    let monitors: Vec<_> = (port..port + 3).map(|port| monitor(port, Arc::clone(&over))).collect();
    let run = Run::begin(scenario(&text(swarm, rest, port), &[]));
    run.until("the load runs", |s| !s.arms.is_empty());
    // The run removes its directory. Hard links elsewhere stay, also to the write-ahead log: on a busy machine the last connection
    // may not have closed yet when the run is over, and until then what it wrote is only there.
    let dir = directory(port);
    let kept = tempfile::tempdir_in(dir.parent().expect("a directory above")).expect("a directory");
    for name in ["arm-0.sqlite", "arm-0.sqlite-wal", "arm-1.sqlite", "arm-1.sqlite-wal"] {
        std::fs::hard_link(dir.join(name), kept.path().join(name)).expect("a link");
    }
    let record = run.finish();
    over.store(true, Relaxed);
    let monitors = monitors.into_iter().map(|monitor| monitor.join().expect("a monitor"));
    let monitors: Vec<Monitor> = monitors.collect();
    let warm_up = i64::try_from(record.scenario.warmup.as_micros()).expect("it is short");
    let begin = record.second_zero.as_ref().expect("it has run").monotonic_us - warm_up;
    if !monitors
        .iter()
        .all(|monitor| monitor.since.is_some_and(|since| since < begin))
    {
        return None;
    }
    let outside = Outside {
        nodes: monitors.iter().map(Monitor::split).collect(),
        orders: (0..2)
            .map(|arm| orders(&kept.path().join(format!("arm-{arm}.sqlite"))))
            .collect(),
    };
    Some((record, outside))
}

/// All orders of a ledger, and those marked as measured, by SQL.
fn orders(file: &Path) -> (u64, u64) {
    runtime().block_on(async {
        sqlx::any::install_default_drivers();
        let url = format!("sqlite://{}", file.display());
        let mut database = sqlx::AnyConnection::connect(&url).await.expect("the arm's file");
        let query = "SELECT COUNT(*), COALESCE(SUM(measured), 0) FROM orders";
        let row: (i64, i64) = sqlx::query_as(query)
            .fetch_one(&mut database)
            .await
            .expect("the ledger");
        (row.0.unsigned_abs(), row.1.unsigned_abs())
    })
}

/// The run's directory, in which a node works in its own folder.
fn directory(port: u16) -> PathBuf {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("an address");
    let mut connection = client.get_connection().expect("a node");
    let (_, dir): (String, String) = redis::cmd("CONFIG")
        .arg(&["GET", "dir"])
        .query(&mut connection)
        .expect("CONFIG");
    Path::new(&dir).parent().expect("the run's directory").to_owned()
}

#[test]
fn counts_agree_with_what_nodes_and_database_saw() {
    let _lab = beside();
    counts_agree(8, "20ms");
}

#[test]
#[ignore = "slow: .ci/long runs"]
fn counts_of_many_workers_agree_with_what_nodes_and_database_saw() {
    let _lab = beside();
    counts_agree(512, "1500ms");
}

/// Plays eight runs of this many workers on each of two app servers.
fn counts_agree(workers: usize, think: &str) {
    let mut shown = 0;
    for load in ["rate = 200".to_owned(), format!("think = \"{think}\"")] {
        for (warmup, requests) in [("0s", None), ("0s", Some(300)), ("700ms", None), ("700ms", Some(300))] {
            let limit = requests.map_or_else(String::new, |n: u64| format!("requests = {n}"));
            let swarm = format!("workers = {workers}\n{load}\n{limit}");
            let rest = format!("duration = \"2s\"\nwarmup = \"{warmup}\"");
            let what = format!("{swarm}\n{rest}");
            let Some((record, outside)) = (0..3).find_map(|_| play(&swarm, &rest)) else {
                panic!("MONITOR never came before the load: {what}");
            };
            laws(&record);
            for (arm, seen) in record.arms.iter().zip(&outside.orders) {
                let figures = &arm.figures;
                one_order_for_each(figures, arm.name == "redlock");
                assert_eq!(figures.booked(Entry::Orders), seen.1, "{}: {what}", arm.name);
                assert_eq!(
                    seen.0 > seen.1,
                    warmup != "0s",
                    "{}: the warm-up sells too: {what}",
                    arm.name
                );
                if load.starts_with("rate") {
                    // Due at 0, 5, 10 ms … before the end, or as many as are asked for; up to rounding.
                    let due: u64 = requests.unwrap_or(400);
                    assert!(figures.offered.abs_diff(due) <= 1, "{}: {what}", figures.offered);
                }
                if load.starts_with("rate") && requests.is_none() {
                    let points = arm.series.iter().filter(|point| point.time >= 0);
                    let offered: Vec<u64> = points.map(|point| point.offered).collect();
                    let even = offered.iter().all(|n| n.abs_diff(200) <= 1);
                    assert!(offered.len() == 2 && even, "{offered:?}: {what}");
                }
                if let Some(requests) = requests {
                    let begun = figures.offered - figures.never_begun;
                    assert!(
                        begun <= requests && figures.counts[Count::Completed] <= requests,
                        "{what}: {figures:?}"
                    );
                }
                if figures.finish.is_none() {
                    let in_time = (figures.answered - arm.after_end.answered) as f64;
                    assert!((figures.throughput * record.elapsed - in_time).abs() < 0.5, "{what}");
                }
            }
            if warmup == "0s" {
                let figures = &arm(&record, "redlock").figures;
                for (node, (servers, after)) in figures.nodes.iter().zip(&outside.nodes) {
                    let said = Seen {
                        sets: node.sets,
                        deletes: node.deletes + node.extends,
                    };
                    assert_eq!(said, *servers, "host {:?}: {what}", node.host);
                    // After the load each key is tried once, which counts for no arm. A quorum is enough: the run may end
                    // before the slowest node has read everything.
                    let tried = after.sets <= PRODUCTS && after.deletes <= PRODUCTS;
                    assert!(tried, "host {:?}: {after:?}: {what}", node.host);
                }
                let tried = outside.nodes.iter().map(|(_, after)| after.sets).sum::<u64>();
                assert!(
                    tried >= 2 * PRODUCTS,
                    "each key is tried on a quorum: {:?}: {what}",
                    outside.nodes
                );
            }
            shown += 1;
        }
    }
    assert_eq!(shown, 8);
}

#[test]
fn a_request_goes_to_the_same_app_server_in_every_arm() {
    let _lab = beside();
    for balance in ["round-robin", "random", "least-busy"] {
        let swarm = format!("workers = 8\nrate = 300\nbalance = \"{balance}\"\narrivals = \"poisson\"");
        let run = Run::begin(scenario(&text(&swarm, "duration = \"1500ms\"", free_ports(4)), &[]));
        let record = run.finish();
        laws(&record);
        let [local, redlock] = ["local", "redlock"].map(|name| arm(&record, name).figures.servers.clone());
        for (local, redlock) in local.iter().zip(&redlock) {
            assert_eq!(local.offered, redlock.offered, "{balance}");
            // Each app server has about half of 450 requests; a block for one app server at a time would be far from that.
            assert!((120..330).contains(&local.offered), "{balance}: {}", local.offered);
        }
        if balance == "round-robin" {
            assert!(local[0].offered.abs_diff(local[1].offered) <= 1);
        }
    }
}

#[test]
fn a_killed_app_server_drops_its_requests_and_gets_no_more() {
    let _lab = beside();
    let swarm = "workers = 8\nrate = 300";
    let run = Run::begin(scenario(&text(swarm, "duration = \"60s\"", free_ports(4)), &[]));
    run.until("it has answered", |s| {
        s.arms.iter().any(|arm| arm.figures.counts[Count::Completed] >= 100)
    });
    // While it is paused it collects a queue, which is lost with it.
    run.fault(Fault::Pause, server(1));
    run.until("it has a queue", |s| {
        s.arms.iter().all(|arm| arm.figures.servers[0].never_begun >= 20)
    });
    run.fault(Fault::Kill, server(1));
    run.until("it is dead", |s| s.servers[0].conditions.has(Condition::Down));
    let then = run.now().arms[0].figures.servers.clone();
    run.until("the other one goes on", |s| {
        s.arms[0].figures.servers[1].completed > then[1].completed + 200
    });
    run.fault(Fault::Kill, server(2));
    let all = |figures: &Figures| figures.servers.iter().map(|server| server.offered).sum::<u64>();
    run.until("requests find no app server", |s| {
        s.arms[0].figures.offered > all(&s.arms[0].figures) + 50
    });
    let record = run.stop();
    laws(&record);
    for arm in &record.arms {
        let figures = &arm.figures;
        assert!(figures.servers[0].dropped >= 20, "{}: {figures:?}", arm.name);
        assert!(
            figures.servers[0].offered <= then[0].offered + 10,
            "{}: dealt to the dead",
            arm.name
        );
        assert_eq!(
            figures.never_begun + figures.unfinished,
            0,
            "nobody is left: {figures:?}"
        );
        let by_server: u64 = figures.servers.iter().map(|server| server.dropped).sum();
        assert!(figures.dropped >= by_server + 50, "{}: {figures:?}", arm.name);
    }
}

#[test]
fn a_paused_app_server_keeps_its_queue_and_its_requests_are_late() {
    let _turn = alone();
    let swarm = "workers = 64\nrate = 200";
    let fault = "[[fault]]\nat = \"3s\"\ndo = \"pause\"\non = \"server:1\"\nfor = \"2s\"\n";
    let text = text(swarm, "duration = \"8s\"", free_ports(4)) + fault;
    let record = Run::begin(scenario(&text, &[])).finish();
    laws(&record);
    let effects: Vec<f64> = effects(&record).into_iter().map(|(.., [_, at])| at).collect();
    let [paused, resumed] = effects[..] else {
        panic!("{effects:?}")
    };
    for arm in &record.arms {
        let there = &arm.figures.servers[0];
        assert_eq!(
            there.offered.abs_diff(arm.figures.servers[1].offered) / 2,
            0,
            "it stays in rotation"
        );
        assert!(there.late >= 190, "{}: {} late", arm.name, there.late);
        let p99 = there.response_us.p99 as f64 / 1e6;
        let pause = resumed - paused;
        // A slow machine takes its time for the requests that have waited.
        assert!(
            p99 >= 0.8 * pause && p99 <= 1.5 * pause,
            "{}: p99 {p99} s of {pause} s",
            arm.name
        );
    }
}
