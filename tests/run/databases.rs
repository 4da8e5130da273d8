//! PostgreSQL beside SQLite: the same scenarios have the same verdicts. A server that dies in the middle of a run, or refuses
//! it from the start, is named, and is never told as damage by a lock.
//!
//! All need PostgreSQL's programs; `make test-postgres` runs one of them, `.ci/long postgres` all.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use lockstorm_data::metrics::{Count, Entry, Figures};
use lockstorm_data::model::CheckResult;
use lockstorm_kit::eventually;
use lockstorm_kit::place::Place;
use lockstorm_kit::play::{arm, texts};
use lockstorm_kit::postgres::{Database, Postgres};
use lockstorm_run::Record;

use super::live::{Ended, Live, living};

/// The variable that names the database; its value never stands on a command line.
const URL_ENV: &str = "LOCKSTORM_TEST_URL";
const BY_ENV: &str = "database.url_env=LOCKSTORM_TEST_URL";

/// 120 buyers of 40 units on two app servers.
const SALE: &str = r#"
title = "Forty units of one product"
duration = "60s"
seed = 1
swarm = { servers = 2, workers = 4, requests = 120 }
workload = { kind = "inventory", products = 1, stock = 40, hold = "20ms" }
arm = [
    { name = "none", lock = "none" },
    { name = "local", lock = "local", timeout = "60s" },
    { name = "redlock", lock = "redlock", ttl = "30s", wait = { retries = 100000, delay = "5ms", jitter = "10ms" }, timeout = "60s" },
    { name = "atomic", lock = "none", update = "atomic" },
]
[expect]
"none.oversold"    = ">= 1"
"local.oversold"   = ">= 1"
"redlock.oversold" = "== 0"
"redlock.lost_updates" = "== 0"
"redlock.orders"   = "== 40"
"atomic.oversold"  = "== 0"
"atomic.orders"    = "== 40"
"#;

/// One hot key that sixteen workers want when it expires.
const STAMPEDE: &str = r#"
title = "A small stampede"
duration = "5s"
warmup = "2s"
seed = 1
swarm = { servers = 2, workers = 8, think = "20ms" }
workload = { kind = "cache-fill", cache = [{ name = "catalogue", keys = 1, state_ttl = "1s", data_ttl = "30s" }] }
database = { read = "200ms", pool = 8 }
arm = [
    { name = "none", lock = "none" },
    { name = "local", lock = "local" },
    { name = "redlock", lock = "redlock", ttl = "30s", wait = { retries = 10000, delay = "20ms", jitter = "20ms" } },
]
[expect]
"none.db_hits_per_expiry"    = ">= 4"
"local.db_hits_per_expiry"   = "> 1 and <= 2"
"redlock.db_hits_per_expiry" = "== 1"
"#;

/// Two arms that sell until they are stopped, and expect no damage by the lock.
const LONG: &str = r#"
title = "Two arms on few products"
duration = "8s"
seed = 1
swarm = { servers = 2, workers = 4, think = "5ms" }
workload = { kind = "inventory", products = 2, stock = 1000000, hold = { median = "2ms", sigma = 0.1 } }
arm = [
    { name = "local", lock = "local" },
    { name = "redlock", lock = "redlock", ttl = "5s" },
]
[expect]
"redlock.acquired"     = "> 0"
"redlock.lost_updates" = "== 0"
"redlock.oversold"     = "== 0"
"redlock.errors"       = "< 1000000000"
"#;

/// The same sale, guarded by the database alone.
const GUARDED: &str = r#"
title = "Forty units of one product"
duration = "60s"
seed = 1
swarm = { servers = 2, workers = 4, requests = 120 }
workload = { kind = "inventory", products = 1, stock = 40, hold = "20ms" }
arm = [
    { name = "none", lock = "none" },
    { name = "session", lock = "postgres", timeout = "60s" },
    { name = "impatient", lock = "postgres", wait = "fail-fast" },
    { name = "row", lock = "none", update = "row-lock" },
]
[expect]
"none.oversold"        = ">= 1"
"session.oversold"     = "== 0"
"session.lost_updates" = "== 0"
"session.orders"       = "== 40"
"session.contended"    = "== 0"
"session.no_quorum"    = "== 0"
"session.unknown"      = "== 0"
"session.locks_lost"   = "== 0"
"session.aborted"      = "== 0"
"impatient.oversold"   = "== 0"
"impatient.contended"  = ">= 1"
"row.oversold"         = "== 0"
"row.lost_updates"     = "== 0"
"row.orders"           = "== 40"
"#;

/// Work of two seconds under a lock that is a session's.
const SESSIONS: &str = r#"
title = "Work under session locks"
duration = "8s"
seed = 1
swarm = { servers = 2, workers = 3 }
workload = { kind = "inventory", products = 2, stock = 1000000, hold = "2s" }
arm = [
    { name = "session", lock = "postgres", timeout = "20s" },
]
[expect]
"session.acquired" = "> 0"
"#;

/// The locks of keys: those of schemas have two numbers.
const OF_KEYS: &str = "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1";
const OF_SCHEMAS: &str = "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted";

/// A figure that a test compares.
type Figure = fn(&Figures) -> u64;

fn start<'a>(place: &'a Place, url: Option<&str>, more: &[&str]) -> Live<'a> {
    let mut arguments = vec!["--record", "out.json", "--log", "log"];
    arguments.extend(more);
    if url.is_some() {
        arguments.extend(["--set", BY_ENV]);
    }
    let mut command = place.command(&arguments);
    Live::start(place, command.envs(url.map(|url| (URL_ENV, url))))
}

/// Waits for the end of a run. It has left no process behind, and has not written the `secret` anywhere.
fn end(place: &Place, run: Live<'_>, secret: &str) -> Ended {
    let ended = run.end();
    eventually("its processes have ended", || living(&place.at("labs")).is_empty());
    let mut all = ended.said();
    for name in ["out.json", "log"] {
        all += &fs::read_to_string(place.at(name)).unwrap_or_default();
    }
    assert!(!secret.is_empty() && !all.contains(secret));
    ended
}

/// Plays a scenario on SQLite and on PostgreSQL: all expectations hold on both. `same` are figures that must be the same.
fn same_verdicts(name: &'static str, text: &str, same: &[(&str, Figure)]) {
    let server = Database::start();
    let play = |url: Option<&str>| {
        let place = Place::new(name, text);
        let ended = end(&place, start(&place, url, &[]), "no password is here");
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        ended.record.unwrap()
    };
    let (here, there) = (play(None), play(Some(server.url())));
    let verdicts = |record: &Record| -> Vec<(String, CheckResult)> {
        let checked = record.expectations.iter();
        checked
            .map(|checked| (checked.expectation.as_written(), checked.result))
            .collect()
    };
    assert_eq!(verdicts(&here), verdicts(&there));
    assert!(verdicts(&here).iter().all(|(_, result)| *result == CheckResult::Held));
    for record in [&here, &there] {
        assert_eq!(
            (texts(&record.partial).len(), texts(&record.inconclusive).len()),
            (0, 0)
        );
        assert!(record.arms.iter().all(|arm| arm.figures.counts[Count::Errors] == 0));
    }
    for (name, figure) in same {
        let [here, there] = [&here, &there].map(|record| figure(&arm(record, name).figures));
        assert_eq!(here, there, "{name}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn a_sale_has_the_same_verdicts_on_both_databases() {
    same_verdicts(
        "sale.toml",
        SALE,
        &[
            ("redlock", |f| f.booked(Entry::Orders)),
            ("redlock", |f| f.booked(Entry::Oversold)),
            ("redlock", |f| f.counts[Count::SoldOut]),
            ("atomic", |f| f.booked(Entry::Orders)),
            ("atomic", |f| f.counts[Count::SoldOut]),
        ],
    );
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_stampede_has_the_same_verdicts_on_both_databases() {
    same_verdicts("stampede.toml", STAMPEDE, &[]);
}

/// Plays the long sale for this time, does something to its server while it sells, and checks what is told of that: the run ends as
/// inconclusive, names the database with `words`, and no damage by the lock is reported.
fn dies(words: &str, duration: &str, harm: impl FnOnce(&mut Postgres, &mut Live<'_>)) -> Record {
    let mut server = Postgres::start();
    let place = Place::new("long.toml", LONG);
    let mut run = start(&place, Some(&server.url()), &["--duration", duration]);
    run.until_it_sells();
    assert!(living(&place.at("labs")).len() > 1, "lockstorm and its servers run");
    harm(&mut server, &mut run);
    let ended = end(&place, run, server.password());
    let said = ended.said();
    assert_eq!(ended.code, Some(5), "{said}");
    let record = ended.record.unwrap();
    for arm in ["local", "redlock"] {
        let named = |text: &String| text.starts_with(&format!("{arm}: ")) && text.contains(words);
        assert!(texts(&record.inconclusive).iter().any(named), "{words}: {said}");
    }
    assert!(ended.stdout.contains(words), "{words}: {said}");
    for expectation in &record.expectations {
        assert_eq!(expectation.result, CheckResult::Inconclusive, "{said}");
    }
    let redlock = &arm(&record, "redlock").figures;
    assert_eq!(
        (redlock.booked(Entry::LostUpdatesPeak), redlock.booked(Entry::Oversold)),
        (0, 0),
        "{said}"
    );
    for damage in ["updates are lost", "more is sold"] {
        assert!(!said.contains(&format!("redlock: {damage}")), "{said}");
    }
    assert!(!ended.stdout.contains('✔'), "{said}");
    record
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_dies_for_good_is_named() {
    let record = dies("its database was lost in mid-run", "3s", |server, _| {
        server.stop("immediate");
    });
    assert_ne!(texts(&record.partial), [""; 0]);
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_crashes_and_comes_back_at_once_counts_nothing_that_came_later() {
    let record = dies("has crashed and started again", "8s", |server, run| {
        server.stop("immediate");
        server.restart();
        run.until("local: its ledger can't be read: the database has crashed");
    });
    assert_ne!(texts(&record.partial), [""; 0]);
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_crashes_and_comes_back_later_counts_nothing_that_came_later() {
    dies("has crashed and started again", "12s", |server, _| {
        server.stop("immediate");
        sleep(Duration::from_secs(2));
        server.restart();
    });
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_is_restarted_in_order_keeps_its_books_but_proves_nothing() {
    let record = dies("its database was lost in mid-run", "6s", |server, _| {
        server.stop("fast");
        server.restart();
    });
    assert_eq!(texts(&record.partial), [""; 0], "it has forgotten nothing");
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_whose_processes_stay_stopped_is_named() {
    dies("its ledger can't be read: no answer within", "5s", |server, run| {
        server.pause();
        run.until("redlock: its database has not answered for 2 s");
    });
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn locks_of_sessions_and_of_rows_oversell_nothing() {
    let server = Database::start();
    let place = Place::new("guarded.toml", GUARDED);
    let ended = end(&place, start(&place, Some(server.url()), &[]), "no password is here");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    // What locks of the database lack: nodes, of which one could be lost.
    assert!(ended.stdout.contains("a row lock"), "{}", ended.stdout);
}

/// Plays work under session locks, and does something to the server while locks are held and waited for.
fn under_sessions(duration: &str, harm: impl FnOnce(&Postgres)) -> Figures {
    let server = Postgres::start();
    let place = Place::new("sessions.toml", SESSIONS);
    let mut run = start(&place, Some(&server.url()), &["--duration", duration]);
    run.until_it_sells();
    let count = |of: &str| server.run(&format!("SELECT count(*) {OF_KEYS} {of}"));
    eventually("each product is locked by one", || count("AND granted").trim() == "2");
    eventually("the others wait for it", || count("AND NOT granted").trim() == "4");
    let held = format!("SELECT count(*), count(DISTINCT objid) {OF_KEYS} AND granted");
    for _ in 0..10 {
        let seen = server.run(&held);
        let (holders, keys) = seen.trim().split_once('|').expect("two numbers");
        assert_eq!(holders, keys, "holders and keys");
    }
    harm(&server);
    let ended = end(&place, run, server.password());
    assert_eq!(count("").trim(), "0", "nothing is left");
    arm(&ended.record.unwrap_or_else(|| panic!("{}", ended.stderr)), "session")
        .figures
        .clone()
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn a_lock_of_a_session_has_one_holder_until_the_session_ends_and_then_its_holder_hears_of_it() {
    // Another run on this database has locks of its own.
    let figures = under_sessions("20s", |server| {
        let other = Place::new("sessions.toml", SESSIONS);
        let mut run = start(&other, Some(&server.url()), &["--duration", "2s"]);
        run.until_it_sells();
        let held = format!("SELECT count(*) {OF_KEYS} AND granted");
        eventually("each run holds two", || server.run(&held).trim() == "4");
        end(&other, run, server.password());
        let schemas = || server.run(&format!("SELECT min(pid) {OF_SCHEMAS}"));
        let before = schemas();
        server.run(&format!("SELECT pg_terminate_backend(pid) {OF_SCHEMAS}"));
        eventually("the schema is locked again", || {
            let now = schemas();
            !now.trim().is_empty() && now != before
        });
    });
    let counted = |figures: &Figures| (figures.double_holds > 0, figures.counts[Count::LocksLost] > 0);
    assert_eq!((counted(&figures), figures.law_violations), ((false, false), 0));
    assert_eq!(figures.booked(Entry::LostUpdatesPeak), 0);
    let figures = under_sessions("8s", |server| {
        server.run(&format!("SELECT pg_terminate_backend(pid) {OF_KEYS} AND granted"));
    });
    assert_eq!((counted(&figures), figures.law_violations), ((true, true), 0));
    assert!(figures.booked(Entry::LostUpdatesPeak) > 0);
}

/// Plays session locks with these changes, does something to the server, and returns the figures.
fn sessions_with(changes: &[&str], harm: impl FnOnce(&mut Postgres)) -> Figures {
    let mut server = Postgres::start();
    server.run("ALTER ROLE lockstorm SET statement_timeout = '400ms'");
    let place = Place::new("sessions.toml", SESSIONS);
    let changes: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
    let mut run = start(&place, Some(&server.url()), &changes);
    run.until_it_sells();
    harm(&mut server);
    let ended = end(&place, run, server.password());
    arm(&ended.record.unwrap_or_else(|| panic!("{}", ended.stderr)), "session")
        .figures
        .clone()
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn what_a_database_refuses_does_not_answer_and_ends_is_counted_apart() {
    let outcomes = |figures: &Figures| (figures.outcomes.no_quorum > 0, figures.outcomes.unknown > 0);
    // Whoever waits longer than a statement may take is refused.
    let figures = sessions_with(&["workload.hold=1s"], |_| {});
    assert_eq!(outcomes(&figures), (true, false));
    assert_eq!(figures.counts[Count::LocksLost], 0);
    assert!(figures.refused_seconds == 0, "one holds each lock");
    let short = ["workload.hold=50ms", "arm.session.timeout=300ms"];
    let figures = sessions_with(&short, |server| {
        server.pause();
        sleep(Duration::from_secs(3));
        server.resume();
    });
    assert!(outcomes(&figures).1);
    // A section of 50 ms is over before its holder asks for its session.
    let figures = sessions_with(&short, |server| {
        for _ in 0..20 {
            server.run(&format!("SELECT pg_terminate_backend(pid) {OF_KEYS} AND granted"));
        }
    });
    assert!(figures.counts[Count::LocksLost] > 0);
}

/// A run that must be refused because of its database. Returns what it said.
fn refused(url: &str, secret: &str) -> String {
    let place = Place::new("long.toml", LONG);
    let ended = end(&place, start(&place, Some(url), &[]), secret);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(
        ended.record.is_none() && !ended.stdout.contains("arm"),
        "{}",
        ended.stdout
    );
    let errors: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.contains("PostgreSQL at"))
        .collect();
    assert_eq!(errors.len(), 1, "{}", ended.stderr);
    errors[0].to_owned()
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_postgresql_that_refuses_says_why_and_what_to_do() {
    let mut server = Postgres::start();
    let address = format!("127.0.0.1:{}", server.port());
    let password = server.password().to_owned();
    let expect = |url: &str, secret: &str, words: [&str; 2]| {
        let said = refused(url, secret);
        println!("{said}");
        for words in words {
            assert!(said.contains(words) && said.contains(&address), "{words}: {said}");
        }
    };

    let wrong = server.url().replace(&password, "hunter2");
    expect(&wrong, "hunter2", ["password authentication failed", "PGPASSWORD"]);

    let missing = server.url().replace("/postgres", "/nowhere");
    expect(
        &missing,
        &password,
        ["database \"nowhere\" does not exist", "CREATE DATABASE"],
    );

    server.run("CREATE ROLE guest LOGIN PASSWORD 'hunter2'");
    let guest = server
        .url()
        .replace(&password, "hunter2")
        .replace("lockstorm:", "guest:");
    expect(&guest, "hunter2", ["permission denied", "GRANT CREATE ON DATABASE"]);

    let url = server.url();
    server.stop("fast");
    expect(&url, &password, ["refused", "check that a database listens there"]);
}
