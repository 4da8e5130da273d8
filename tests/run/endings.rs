//! Runs whose database, cache node or hosts hang. Every way out ends soon, says what is missing, and leaves nothing
//! behind.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockstorm::metrics::{Count, Time};
use lockstorm::model::CheckResult;
use lockstorm::run::{ArmRecord, Record};
use lockstorm_kit::place::Place;
use lockstorm_kit::postgres::Database;
use lockstorm_kit::proxy::Proxy;
use lockstorm_kit::send;
use nix::sys::signal::Signal;
use sqlx::{Connection, SqliteConnection};

/// Long enough for any machine.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// From the end of the load to the end of the run ten seconds are expected; a busy machine may need more.
const BOUND: f64 = 30.0;

/// One arm without a lock, so that damage is certain, and one with a lock.
const SCENARIO: &str = r#"
title    = "Two arms on few products"
duration = "60s"
seed     = 1

[swarm]
servers = 2
workers = 4
think   = "5ms"

[workload]
kind     = "inventory"
products = 2
stock    = 1000000
hold     = { median = "2ms", sigma = 0.1 }

[[arm]]
name = "none"
lock = "none"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "2s"

[expect]
"redlock.acquired" = "> 0"
"#;

const IN_REDIS: &str = "workload.stock_in=redis";
const NO_DAMAGE: &str = "expect.none.lost_updates=== 0";

fn place() -> Place {
    Place::new("two-arms.toml", SCENARIO)
}

fn start<'a>(place: &'a Place, set: &[&str]) -> Run<'a> {
    let set = set.iter().flat_map(|set| ["--set", *set]);
    let arguments: Vec<&str> = ["--record", "out.json"].into_iter().chain(set).collect();
    let mut child = place.command(&arguments).spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    Run {
        place,
        child,
        stderr,
        said: String::new(),
    }
}

struct Run<'a> {
    place: &'a Place,
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run<'_> {
    /// Reads its output until this text comes.
    fn until(&mut self, wanted: &str) {
        loop {
            let from = self.said.len();
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert!(read > 0, "no {wanted:?} in {}", self.said);
            if self.said[from..].contains(wanted) {
                return;
            }
        }
    }

    fn send(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// The process of the cache node.
    fn cache(&self) -> u32 {
        self.server("cache")
    }

    /// A server that the keeper of this run started, by its directory.
    fn server(&self, name: &str) -> u32 {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            let servers = children(self.child.id()).into_iter().flat_map(children);
            for pid in servers {
                let directory = fs::read_link(format!("/proc/{pid}/cwd"));
                if directory.is_ok_and(|directory| directory.ends_with(name)) {
                    return pid;
                }
            }
            assert!(Instant::now() < end, "no {name}");
            sleep(Duration::from_millis(20));
        }
    }

    fn end(mut self) -> Ended {
        let mut stdout = String::new();
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        assert_eq!(self.place.labs(), [] as [PathBuf; 0], "its lab is gone: {}", self.said);
        Ended {
            code,
            stdout,
            stderr: self.said,
        }
    }

    /// The end of a run that leaves a record.
    fn record(self) -> (Ended, Record) {
        let file = self.place.at("out.json");
        let ended = self.end();
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
        (ended, serde_json::from_slice(&bytes).unwrap())
    }
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task"));
    let lists = tasks.into_iter().flatten();
    let lists = lists.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn is_said(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text.contains(wanted))
}

fn result(record: &Record, arm: &str) -> CheckResult {
    let mut expectations = record.expectations.iter();
    expectations
        .find(|checked| checked.expectation.starts_with(arm))
        .unwrap()
        .result
}

/// Asserts that the run ended soon after its load, with a summary and a record that say what is missing.
fn ended_in_part(ended: &Ended, record: &Record, missing: &[&str]) {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(record.format, Record::FORMAT);
    for missing in missing {
        assert!(
            is_said(&record.partial, missing),
            "{missing}: {:?}\n{said}",
            record.partial
        );
        assert!(ended.stdout.contains(missing), "{missing}: {said}");
    }
    assert!(
        ended.stdout.contains("partial: closed with what was known at the end"),
        "{said}"
    );
    for missing in &record.partial {
        assert!(
            is_said(&record.inconclusive, missing),
            "{missing}: {:?}",
            record.inconclusive
        );
    }
    assert_eq!(result(record, "redlock"), CheckResult::Inconclusive, "{said}");
    assert!(!ended.stdout.contains('✔'), "{said}");
    // Nothing good is said about what is missing, and its counts are marked as incomplete.
    let in_part = |arm: &ArmRecord| {
        record
            .partial
            .iter()
            .any(|text| text.starts_with(&format!("{}: ", arm.name)))
    };
    for arm in &record.arms {
        assert_eq!(arm.figures.incomplete, in_part(arm), "{}: {said}", arm.name);
        let is_its = |line: &&str| line.starts_with(&format!("{}: ", arm.name)) && line.contains(" order");
        let words = ended.stdout.lines().find(is_its).unwrap_or(&said);
        let praised = ["lost no update", "not one unit more", "95 %"]
            .iter()
            .any(|praise| words.contains(praise));
        let is_open = words.contains("at least") || words.contains("is not known");
        assert!(!praised && is_open == in_part(arm), "{words}");
    }
    assert!(took(record) < BOUND, "{} s: {said}", took(record));
    assert!(
        !is_said(&record.warnings, "answers again"),
        "nobody did: {:?}",
        record.warnings
    );
}

/// Seconds from the end of the load to the end of the run.
fn took(record: &Record) -> f64 {
    let at = |wanted: &[&str]| {
        let found = record.events.iter().find(|event| wanted.contains(&event.text.as_str()));
        found.unwrap_or_else(|| panic!("{wanted:?} in {:#?}", record.events)).at
    };
    at(&["finished", "stopped"]) - at(&["the load has ended"])
}

#[test]
fn a_database_that_accepts_and_never_answers_is_named() {
    let place = place();
    let silent = Proxy::start(None);
    let url = format!("database.url=postgres://ls:secret@127.0.0.1:{}/ls", silent.port());
    let ended = start(&place, &[&url]).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let named = format!("PostgreSQL at 127.0.0.1:{}: no answer within 5s", silent.port());
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

#[test]
fn a_signal_while_the_database_does_not_answer_ends_the_set_up_at_once() {
    let place = place();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let silent = Proxy::start(None);
        let url = format!("database.url=postgres://ls:x@127.0.0.1:{}/ls", silent.port());
        let run = start(&place, &[&url]);
        let end = Instant::now() + TEST_TIMEOUT;
        while silent.accepted() == 0 {
            assert!(Instant::now() < end, "it never asked");
            sleep(Duration::from_millis(5));
        }
        run.send(signal);
        let ended = run.end();
        assert_eq!(ended.code, Some(128 + signal as i32), "{}", ended.stderr);
        // It did not wait until the database was given up.
        assert!(!ended.stderr.contains("no answer within"), "{}", ended.stderr);
    }
}

#[test]
fn a_cache_node_that_stays_stopped_makes_the_record_partial() {
    let place = place();
    let mut run = start(&place, &[IN_REDIS, "duration=6s"]);
    run.until("s of ");
    send(run.cache(), Signal::SIGSTOP);
    run.until("redlock: the cache node has not answered for 2 s");
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(5), "{}{}", ended.stdout, ended.stderr);
    let missing = [
        "none: its books can't be read: no answer within",
        "redlock: its books can't be read: no answer within",
        "under way at the end had no answer and were given up",
    ];
    ended_in_part(&ended, &record, &missing);
    assert!(!record.interrupted);
}

#[test]
fn damage_that_is_proven_stays_damage_in_a_partial_record() {
    let place = place();
    let mut run = start(&place, &[IN_REDIS, NO_DAMAGE, "duration=8s"]);
    run.until("none: first lost updates");
    send(run.cache(), Signal::SIGSTOP);
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(result(&record, "none"), CheckResult::Failed);
    ended_in_part(&ended, &record, &["none: its books can't be read"]);
}

#[test]
fn a_second_signal_ends_a_run_whose_cache_node_hangs() {
    let place = place();
    let mut run = start(&place, &[IN_REDIS]);
    run.until("s of ");
    send(run.cache(), Signal::SIGSTOP);
    run.until("the cache node was stopped by a signal from outside");
    run.send(Signal::SIGINT);
    run.until("draining");
    run.send(Signal::SIGTERM);
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(130), "{}{}", ended.stdout, ended.stderr);
    assert!(record.interrupted);
    ended_in_part(&ended, &record, &["were given up: the run was told not to wait"]);
}

#[test]
fn a_lock_node_that_stays_stopped_leaves_the_record_whole() {
    let place = place();
    let mut run = start(&place, &["duration=4s"]);
    run.until("s of ");
    send(run.server("host-1"), Signal::SIGSTOP);
    run.until("host 1 was stopped by a signal from outside");
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!((record.partial.len(), record.inconclusive.len()), (0, 0));
    assert!(took(&record) < BOUND, "{}", took(&record));
}

/// Locks the SQLite file of an arm while `work` runs.
fn while_locked(place: &Place, arm: usize, work: impl FnOnce()) {
    let file = place.labs()[0].join(format!("arm-{arm}.sqlite"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut connection = runtime.block_on(async {
        let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display()))
            .await
            .unwrap();
        let lock = "PRAGMA busy_timeout = 60000; BEGIN EXCLUSIVE";
        sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
        connection
    });
    work();
    // The file may have been removed with its run.
    let _ = runtime.block_on(sqlx::raw_sql("ROLLBACK").execute(&mut connection));
}

#[test]
fn a_database_that_stays_locked_makes_its_arm_partial() {
    let place = place();
    let mut run = start(&place, &["duration=4s", NO_DAMAGE]);
    run.until("none: first lost updates");
    // Its ledger can still be read: only the results of the sales under way are missing.
    let (mut end, place) = (None, &place);
    while_locked(place, 1, || end = Some(run.record()));
    let (ended, record) = end.unwrap();
    assert_eq!(
        ended.code,
        Some(3),
        "the other arm's damage: {}{}",
        ended.stdout,
        ended.stderr
    );
    ended_in_part(&ended, &record, &["redlock: "]);
    assert!(
        record.partial.iter().all(|text| text.starts_with("redlock: ")),
        "{:?}",
        record.partial
    );
    assert_eq!(result(&record, "none"), CheckResult::Failed);
}

#[test]
fn a_database_that_comes_back_within_the_load_leaves_the_record_whole() {
    let place = place();
    let mut run = start(&place, &["duration=8s"]);
    run.until("s of ");
    while_locked(&place, 1, || sleep(Duration::from_secs(3)));
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!((record.partial.len(), record.inconclusive.len()), (0, 0));
    assert_eq!(record.arms[1].figures.counts[Count::Errors], 0);
    let slowest = record.arms[1].figures.times[Time::Response].max;
    assert!(slowest > 2_000_000, "its requests waited: {slowest} us");
}

/// A run of the two arms on PostgreSQL behind a proxy.
struct Remote {
    proxy: Proxy,
    /// The server itself.
    database: Database,
    /// The URL of the server behind the proxy.
    set: String,
}

impl Remote {
    fn new() -> Self {
        let database = Database::start();
        let url = database.url();
        let (scheme, rest) = url.split_once("://").expect("a URL");
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority
            .rsplit_once('@')
            .map_or(("", authority), |(user, host)| (user, host));
        let with_port = if host.contains(':') {
            host.to_owned()
        } else {
            format!("{host}:5432")
        };
        let server: SocketAddr = with_port.to_socket_addrs().expect("a host").next().expect("an address");
        let proxy = Proxy::start(Some(server));
        let behind = format!("{scheme}://{user}@127.0.0.1:{}/{path}", proxy.port());
        Self {
            set: format!("database.url={behind}"),
            proxy,
            database,
        }
    }

    /// Our schemas that exist, of this record's run.
    fn schemas(&self, names: &[String]) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let found = runtime.block_on(async {
            let mut connection = sqlx::PgConnection::connect(self.database.url())
                .await
                .expect("a connection");
            sqlx::query_scalar::<_, String>("SELECT nspname::text FROM pg_namespace")
                .fetch_all(&mut connection)
                .await
                .expect("an answer")
        });
        found.into_iter().filter(|name| names.contains(name)).collect()
    }
}

/// The schemas of the run with this lab.
fn schemas_of(lab: &Path) -> Vec<String> {
    let run = lab.file_name().unwrap().to_string_lossy().to_lowercase();
    let id: String = run
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    (0..2).map(|arm| format!("lockstorm_{id}_{arm}")).collect()
}

/// The schemas that are left, according to the warnings of a record.
fn left(record: &Record) -> Vec<String> {
    let schema = |text: &String| {
        let rest = text.strip_prefix("the schema ")?;
        Some(rest.split_once(" is left in PostgreSQL at ")?.0.to_owned())
    };
    record.warnings.iter().filter_map(schema).collect()
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_hangs_in_mid_run_makes_the_record_partial_and_the_next_run_tidies_up() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=6s"]);
    run.until("s of ");
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(5), "{}{}", ended.stdout, ended.stderr);
    ended_in_part(
        &ended,
        &record,
        &["redlock: its books can't be read: no answer within", "were given up"],
    );
    let left = left(&record);
    assert_eq!(left.len(), 2, "{:?}", record.warnings);
    assert_eq!(remote.schemas(&left).len(), 2);
    // The schema locks end with the connections of the run that is gone.
    remote.proxy.cut();
    remote.proxy.thaw();
    let end = Instant::now() + TEST_TIMEOUT;
    while !remote.schemas(&left).is_empty() {
        assert!(Instant::now() < end, "{left:?} stay");
        let ended = start(&place, &[&remote.set, "duration=1s"]).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_is_cut_off_for_good_makes_the_record_partial() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=6s"]);
    run.until("s of ");
    remote.proxy.freeze();
    remote.proxy.cut();
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(5), "{}{}", ended.stdout, ended.stderr);
    ended_in_part(&ended, &record, &["redlock: its books can't be read"]);
    remote.proxy.thaw();
    start(&place, &[&remote.set, "duration=1s"]).end();
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_goes_on_within_the_load_leaves_the_record_whole() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=10s"]);
    run.until("s of ");
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    remote.proxy.thaw();
    run.until("redlock: its database answers again");
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!((record.partial.len(), record.inconclusive.len()), (0, 0));
    assert_eq!(left(&record), [""; 0]);
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_second_signal_ends_a_run_whose_postgresql_hangs() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set]);
    run.until("s of ");
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    run.send(Signal::SIGINT);
    run.until("draining");
    run.send(Signal::SIGTERM);
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(130), "{}{}", ended.stdout, ended.stderr);
    ended_in_part(&ended, &record, &["redlock: its books can't be read"]);
    remote.proxy.cut();
    remote.proxy.thaw();
    start(&place, &[&remote.set, "duration=1s"]).end();
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_hangs_between_connecting_and_the_load_ends_the_set_up() {
    let (place, remote) = (place(), Remote::new());
    remote.proxy.freeze();
    let ended = start(&place, &[&remote.set]).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let named = format!("PostgreSQL at 127.0.0.1:{}: no answer within", remote.proxy.port());
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_signal_during_the_set_up_leaves_no_schema() {
    let (place, remote) = (place(), Remote::new());
    let run = start(&place, &[&remote.set]);
    let end = Instant::now() + TEST_TIMEOUT;
    // The query for free connections, the sweep, the schema lock and the tables of the first arm each have a connection.
    while remote.proxy.accepted() < 5 {
        assert!(Instant::now() < end, "it never connected");
        sleep(Duration::from_millis(1));
    }
    let schemas = schemas_of(&place.labs()[0]);
    assert!(!remote.schemas(&schemas).is_empty(), "{schemas:?} were not there");
    run.send(Signal::SIGINT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(remote.schemas(&schemas), [""; 0], "{}", ended.stderr);
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_schema_that_somebody_uses_is_left_with_a_warning_and_goes_with_the_next_run() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=4s"]);
    run.until("s of ");
    let used = schemas_of(&place.labs()[0]).remove(0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let user = runtime.block_on(async {
        let mut user = sqlx::PgConnection::connect(remote.database.url())
            .await
            .expect("a connection");
        let read = format!("BEGIN; LOCK TABLE {used}.catalogue IN ACCESS SHARE MODE");
        sqlx::raw_sql(sqlx::AssertSqlSafe(read))
            .execute(&mut user)
            .await
            .expect("the table is there");
        user
    });
    let (ended, record) = run.record();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(record.partial, [""; 0], "nothing of the run is missing");
    assert_eq!(left(&record), std::slice::from_ref(&used), "{:?}", record.warnings);
    drop((user, runtime));
    let end = Instant::now() + TEST_TIMEOUT;
    while !remote.schemas(std::slice::from_ref(&used)).is_empty() {
        assert!(Instant::now() < end, "{used} stays");
        start(&place, &[&remote.set, "duration=1s"]).end();
    }
}
