//! Runs whose database, cache node or hosts hang. Every way out ends soon, says what is missing, and leaves nothing
//! behind.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lockstorm_data::facts::EventKind;
use lockstorm_data::metrics::{Count, Time};
use lockstorm_data::model::CheckResult;
use lockstorm_kit::place::Place;
use lockstorm_kit::play::texts;
use lockstorm_kit::postgres::Database;
use lockstorm_kit::program::program;
use lockstorm_kit::proxy::Proxy;
use lockstorm_kit::{eventually, parts_of, runtime, send};
use lockstorm_run::{ArmRecord, Record};
use nix::sys::signal::Signal;
use sqlx::{Connection, SqliteConnection};
use url::Url;

use super::live::{Ended, Live};

/// From the end of the load to the end of the run ten seconds are expected; a busy machine may need more.
const BOUND: f64 = 30.0;

/// One arm without a lock, so that damage is certain, and one with a lock.
const SCENARIO: &str = r#"
title = "Two arms on few products"
duration = "60s"
seed = 1
swarm = { servers = 2, workers = 4, think = "5ms" }
workload = { kind = "inventory", products = 2, stock = 1000000, hold = { median = "2ms", sigma = 0.1 } }
arm = [
    { name = "none", lock = "none" },
    { name = "redlock", lock = "redlock", ttl = "2s" },
]
[expect]
"redlock.acquired" = "> 0"
"#;

const IN_REDIS: &str = "workload.stock_in=redis";
const NO_DAMAGE: &str = "expect.none.lost_updates=== 0";

fn place() -> Place {
    Place::new("two-arms.toml", SCENARIO)
}

fn start<'a>(place: &'a Place, set: &[&str]) -> Live<'a> {
    let set = set.iter().flat_map(|set| ["--set", *set]);
    let arguments: Vec<&str> = ["--verbose", "--record", "out.json"].into_iter().chain(set).collect();
    Live::start(place, &mut place.command(&arguments))
}

fn is_said(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text.contains(wanted))
}

#[test]
fn what_is_written_to_a_node_by_hand_is_an_event() {
    let place = place();
    let run = {
        let mut run = start(&place, &["duration=6s"]);
        run.until_it_sells();
        run
    };
    let cli = |words: &[&str]| {
        let mut command = Command::new(program());
        command.args(["lab", "cli", "1", "--"]).args(words);
        command.env("TMPDIR", place.at("labs")).stdin(Stdio::null());
        parts_of(command.output().expect("lockstorm"))
    };
    let (code, out, error) = cli(&["GET", "nothing"]);
    assert_eq!((code, out.as_str()), (Some(0), "\n"), "{error}");
    let (code, out, error) = cli(&["FLUSHALL"]);
    assert_eq!((code, out.as_str()), (Some(0), "OK\n"), "{error}");
    let (_, record) = run.record(0);
    let flushes = |text: &str| text.starts_with("host 1: FLUSHALL by `lockstorm lab cli`");
    let event = record
        .events
        .iter()
        .find(|event| flushes(&event.text()))
        .expect("an event");
    assert!(
        event.at > 0.0 && matches!(event.kind, EventKind::Warning { .. }),
        "{event:?}"
    );
    let mut told = texts(&record.warnings);
    told.retain(|text| text.contains("lab cli"));
    assert!(told.len() == 1 && flushes(&told[0]), "{told:?}");
}

/// Our locks are not to blame for keys that somebody deletes by `lab cli`: all of them, or those of some locks.
#[test]
fn what_is_deleted_by_hand_is_no_violation_of_our_lock() {
    let scenario = SCENARIO
        .replace("products = 2", "products = 12")
        .replace(r#"median = "2ms""#, r#"median = "600ms""#)
        .replace(
            r#"{ name = "none", lock = "none" },"#,
            r#"{ name = "single", lock = "single", ttl = "2s", timeout = "5s" },"#,
        );
    let place = Place::new("two-arms.toml", &scenario);
    let mut run = start(&place, &["duration=9s", "swarm.workers=12"]);
    run.until_it_sells();
    let cli = |words: &[&str]| {
        let mut command = Command::new(program());
        command.args(["lab", "cli", "1", "--"]).args(words);
        command.env("TMPDIR", place.at("labs")).stdin(Stdio::null());
        let (code, out, error) = parts_of(command.output().expect("lockstorm"));
        assert_eq!(code, Some(0), "{out}{error}");
        out
    };
    for _ in 0..4 {
        cli(&["FLUSHALL"]);
        sleep(Duration::from_millis(700));
        let keys = cli(&["KEYS", "*"]);
        cli(&[&["DEL"], &keys.split_whitespace().collect::<Vec<_>>()[..]].concat());
        sleep(Duration::from_millis(700));
    }
    let (ended, record) = run.record(0);
    let single = &record.arms[0].figures;
    assert_eq!(single.law_violations, 0, "{}", ended.said());
    // The time of each FLUSHALL is known.
    assert!(single.deleted >= 12, "{} of {}", single.deleted, single.double_holds);
    assert_eq!(record.arms[1].figures.law_violations, 0, "{}", ended.said());
}

fn result(record: &Record, arm: &str) -> CheckResult {
    let mut expectations = record.expectations.iter();
    expectations
        .find(|checked| checked.expectation.arm.starts_with(arm))
        .unwrap()
        .result
}

/// Asserts that the run ended soon after its load, with a summary and a record that say what is missing.
fn ended_in_part(ended: &Ended, record: &Record, missing: &[&str]) {
    let said = ended.said();
    assert_eq!(record.format, Record::FORMAT);
    for missing in missing {
        assert!(
            is_said(&texts(&record.partial), missing),
            "{missing}: {:?}\n{said}",
            texts(&record.partial)
        );
        // Its lines are folded.
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(missing), "{missing}: {said}");
    }
    assert!(
        ended.stdout.contains("partial: closed with what was known at the end"),
        "{said}"
    );
    for missing in texts(&record.partial) {
        assert!(
            is_said(&texts(&record.inconclusive), &missing),
            "{missing}: {:?}",
            texts(&record.inconclusive)
        );
    }
    assert_eq!(result(record, "redlock"), CheckResult::Inconclusive, "{said}");
    assert!(!ended.stdout.contains('✔'), "{said}");
    // Nothing good is said about what is missing, and its counts are marked as incomplete.
    let in_part = |arm: &ArmRecord| {
        texts(&record.partial)
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
        !is_said(&texts(&record.warnings), "answers again"),
        "nobody did: {:?}",
        texts(&record.warnings)
    );
}

/// Seconds from the end of the load to the end of the run.
fn took(record: &Record) -> f64 {
    let at = |wanted: &[&str]| {
        let found = record
            .events
            .iter()
            .find(|event| wanted.contains(&event.text().as_str()));
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
        eventually("it asks", || silent.accepted() > 0);
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
    run.until_it_sells();
    send(run.server("cache"), Signal::SIGSTOP);
    run.until("redlock: the cache node has not answered for 2 s");
    let (ended, record) = run.record(5);
    let missing = [
        "none: its ledger can't be read: no answer within",
        "redlock: its ledger can't be read: no answer within",
        "under way at the end had no answer and were given up",
    ];
    ended_in_part(&ended, &record, &missing);
    assert!(!record.interrupted);
}

#[test]
fn damage_that_is_proven_stays_damage_in_a_partial_record() {
    let place = place();
    let mut run = start(&place, &[IN_REDIS, NO_DAMAGE, "duration=8s"]);
    run.until("none: updates are lost");
    send(run.server("cache"), Signal::SIGSTOP);
    let (ended, record) = run.record(3);
    assert_eq!(result(&record, "none"), CheckResult::Failed);
    ended_in_part(&ended, &record, &["none: its ledger can't be read"]);
}

#[test]
fn a_second_signal_ends_a_run_whose_cache_node_hangs() {
    let place = place();
    let mut run = start(&place, &[IN_REDIS]);
    run.until_it_sells();
    send(run.server("cache"), Signal::SIGSTOP);
    run.until("the cache node was stopped by a signal from outside");
    run.send(Signal::SIGINT);
    run.until("draining");
    run.send(Signal::SIGTERM);
    let (ended, record) = run.record(130);
    assert!(record.interrupted);
    ended_in_part(&ended, &record, &["were given up: the run was told not to wait"]);
}

#[test]
fn a_lock_node_that_stays_stopped_leaves_the_record_whole() {
    let place = place();
    let mut run = start(&place, &["duration=4s"]);
    run.until_it_sells();
    send(run.server("host-1"), Signal::SIGSTOP);
    run.until("host 1 was stopped by a signal from outside");
    let (_, record) = run.record(0);
    assert_eq!(
        (texts(&record.partial).len(), texts(&record.inconclusive).len()),
        (0, 0)
    );
    assert!(took(&record) < BOUND, "{}", took(&record));
}

#[test]
fn an_outage_that_comes_from_outside_is_not_that_of_an_earlier_fault() {
    let fault = "fault = [{ at = \"500ms\", do = \"kill\", on = \"host:1\", for = \"300ms\" }]\n[expect]";
    let place = Place::new("two-arms.toml", &SCENARIO.replace("[expect]", fault));
    let mut run = start(&place, &["duration=6s"]);
    run.until("host 1 is back");
    for host in ["host-2", "host-3"] {
        send(run.server(host), Signal::SIGSTOP);
    }
    run.until("host 3 was stopped by a signal from outside");
    let (ended, record) = run.record(0);
    let longest = record.arms[1].figures.longest_outage();
    assert!(longest.lasted_us > 1_000_000, "{}", ended.said());
    assert_eq!(longest.event, None, "{}", ended.said());
}

/// Locks the SQLite file of an arm while `work` runs.
fn while_locked(place: &Place, arm: usize, work: impl FnOnce()) {
    let file = place.labs()[0].join(format!("arm-{arm}.sqlite"));
    let runtime = runtime();
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
    // As long as a starved machine may take until it grants a lock, whose section then waits for the database.
    let mut run = start(&place, &["duration=8s", NO_DAMAGE]);
    run.until("none: updates are lost");
    // Its ledger can still be read: only the results of the sales under way are missing.
    let (mut end, place) = (None, &place);
    // The other arm's damage is an exit code of its own.
    while_locked(place, 1, || end = Some(run.record(3)));
    let (ended, record) = end.unwrap();
    ended_in_part(&ended, &record, &["redlock: "]);
    assert!(
        texts(&record.partial).iter().all(|text| text.starts_with("redlock: ")),
        "{:?}",
        texts(&record.partial)
    );
    assert_eq!(result(&record, "none"), CheckResult::Failed);
}

#[test]
fn a_database_that_comes_back_within_the_load_leaves_the_record_whole() {
    let place = place();
    let mut run = start(&place, &["duration=8s"]);
    run.until_it_sells();
    while_locked(&place, 1, || sleep(Duration::from_secs(3)));
    let (_, record) = run.record(0);
    assert_eq!(
        (texts(&record.partial).len(), texts(&record.inconclusive).len()),
        (0, 0)
    );
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
        let mut behind = Url::parse(database.url()).expect("a URL");
        let addresses = behind.socket_addrs(|| Some(5432)).expect("a host");
        let proxy = Proxy::start(Some(addresses[0]));
        behind.set_host(Some("127.0.0.1")).expect("a URL with a host");
        behind.set_port(Some(proxy.port())).expect("a URL with a host");
        Self {
            set: format!("database.url={behind}"),
            proxy,
            database,
        }
    }

    /// Our schemas that exist, of this record's run.
    fn schemas(&self, names: &[String]) -> Vec<String> {
        let found = runtime().block_on(async {
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
    texts(&record.warnings).iter().filter_map(schema).collect()
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_hangs_in_mid_run_makes_the_record_partial_and_the_next_run_tidies_up() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=6s"]);
    run.until_it_sells();
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    let (ended, record) = run.record(5);
    ended_in_part(
        &ended,
        &record,
        &["redlock: its ledger can't be read: no answer within", "were given up"],
    );
    let left = left(&record);
    assert_eq!(left.len(), 2, "{:?}", texts(&record.warnings));
    assert_eq!(remote.schemas(&left).len(), 2);
    // The schema locks end with the connections of the run that is gone.
    remote.proxy.cut();
    remote.proxy.thaw();
    eventually("the schemas go", || {
        let ended = start(&place, &[&remote.set, "duration=1s"]).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        remote.schemas(&left).is_empty()
    });
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_is_cut_off_for_good_makes_the_record_partial() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=6s"]);
    run.until_it_sells();
    remote.proxy.freeze();
    remote.proxy.cut();
    let (ended, record) = run.record(5);
    ended_in_part(&ended, &record, &["redlock: its ledger can't be read"]);
    remote.proxy.thaw();
    start(&place, &[&remote.set, "duration=1s"]).end();
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_goes_on_within_the_load_leaves_the_record_whole() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=10s"]);
    run.until_it_sells();
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    remote.proxy.thaw();
    run.until("redlock: its database answers again");
    let (_, record) = run.record(0);
    assert_eq!(
        (texts(&record.partial).len(), texts(&record.inconclusive).len()),
        (0, 0)
    );
    assert_eq!(left(&record), [""; 0]);
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn a_second_signal_ends_a_run_whose_postgresql_hangs() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set]);
    run.until_it_sells();
    remote.proxy.freeze();
    run.until("redlock: its database has not answered for 2 s");
    run.send(Signal::SIGINT);
    run.until("draining");
    run.send(Signal::SIGTERM);
    let (ended, record) = run.record(130);
    ended_in_part(&ended, &record, &["redlock: its ledger can't be read"]);
    remote.proxy.cut();
    remote.proxy.thaw();
    start(&place, &[&remote.set, "duration=1s"]).end();
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_hangs_between_connecting_and_the_load_ends_the_set_up() {
    let (place, remote) = (place(), Remote::new());
    remote.proxy.freeze();
    let ended = start(&place, &[&remote.set]).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let named = format!("PostgreSQL at 127.0.0.1:{}: no answer within", remote.proxy.port());
    assert!(ended.stderr.contains(&named), "{}", ended.stderr);
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_signal_during_the_set_up_leaves_no_schema() {
    let (place, remote) = (place(), Remote::new());
    let run = start(&place, &[&remote.set]);
    // The query for free connections, the sweep, the schema lock and the tables of the first arm each have a connection.
    eventually("it connects", || remote.proxy.accepted() >= 5);
    let schemas = schemas_of(&place.labs()[0]);
    assert!(!remote.schemas(&schemas).is_empty(), "{schemas:?} were not there");
    run.send(Signal::SIGINT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(remote.schemas(&schemas), [""; 0], "{}", ended.stderr);
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_schema_that_somebody_uses_is_left_with_a_warning_and_goes_with_the_next_run() {
    let (place, remote) = (place(), Remote::new());
    let mut run = start(&place, &[&remote.set, "duration=4s"]);
    run.until_it_sells();
    let used = schemas_of(&place.labs()[0]).remove(0);
    let runtime = runtime();
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
    let (_, record) = run.record(0);
    assert_eq!(texts(&record.partial), [""; 0], "nothing of the run is missing");
    assert_eq!(
        left(&record),
        std::slice::from_ref(&used),
        "{:?}",
        texts(&record.warnings)
    );
    drop((user, runtime));
    eventually("the schema goes", || {
        start(&place, &[&remote.set, "duration=1s"]).end();
        remote.schemas(std::slice::from_ref(&used)).is_empty()
    });
}
