//! PostgreSQL beside SQLite: the same scenarios have the same verdicts. A server that dies in the middle of a run, or refuses
//! it from the start, is named, and is never told as damage by a lock.
//!
//! All need PostgreSQL's programs; `make test-postgres` runs them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command};
use std::thread::sleep;
use std::time::Duration;

use lockstorm::metrics::{Count, Figures};
use lockstorm::model::CheckResult;
use lockstorm::run::{ArmRecord, Record};
use lockstorm_kit::eventually;
use lockstorm_kit::place::Place;
use lockstorm_kit::postgres::{Database, Postgres};

/// The variable that names the database; its value never stands on a command line.
const URL_ENV: &str = "LOCKSTORM_TEST_URL";
const BY_ENV: &str = "database.url_env=LOCKSTORM_TEST_URL";

/// 120 buyers of 40 units on two app servers.
const SALE: &str = r#"
title    = "Forty units of one product"
duration = "60s"
seed     = 1

[swarm]
servers  = 2
workers  = 4
requests = 120

[workload]
kind     = "inventory"
products = 1
stock    = 40
hold     = "20ms"

[[arm]]
name    = "none"
lock    = "none"

[[arm]]
name    = "local"
lock    = "local"
timeout = "60s"

[[arm]]
name    = "redlock"
lock    = "redlock"
ttl     = "30s"
wait    = { retries = 100000, delay = "5ms", jitter = "10ms" }
timeout = "60s"

[[arm]]
name   = "atomic"
lock   = "none"
update = "atomic"

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
title    = "A small stampede"
duration = "5s"
warmup   = "2s"
seed     = 1

[swarm]
servers = 2
workers = 8
think   = "20ms"

[workload]
kind = "cache-fill"

[[workload.cache]]
name      = "catalogue"
keys      = 1
state_ttl = "1s"
data_ttl  = "30s"

[database]
read = "200ms"
pool = 8

[[arm]]
name = "none"
lock = "none"

[[arm]]
name = "local"
lock = "local"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "30s"
wait = { retries = 10000, delay = "20ms", jitter = "20ms" }

[expect]
"none.db_hits_per_expiry"    = ">= 4"
"local.db_hits_per_expiry"   = "> 1 and <= 2"
"redlock.db_hits_per_expiry" = "== 1"
"#;

/// Two arms that sell until they are stopped, and expect no damage by the lock.
const LONG: &str = r#"
title    = "Two arms on few products"
duration = "8s"
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
name = "local"
lock = "local"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "5s"

[expect]
"redlock.acquired"     = "> 0"
"redlock.lost_updates" = "== 0"
"redlock.oversold"     = "== 0"
"redlock.errors"       = "< 1000000000"
"#;

/// A figure that a test compares.
type Figure = fn(&Figures) -> u64;

/// A run that goes on.
struct Run<'a> {
    place: &'a Place,
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

/// What is left of one.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// `None` if there is none.
    record: Option<Record>,
}

impl<'a> Run<'a> {
    fn start(place: &'a Place, url: Option<&str>, more: &[&str]) -> Self {
        let mut arguments = vec!["--record", "out.json", "--log", "log"];
        arguments.extend(more);
        if url.is_some() {
            arguments.extend(["--set", BY_ENV]);
        }
        let mut command: Command = place.command(&arguments);
        command.envs(url.map(|url| (URL_ENV, url)));
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self {
            place,
            child,
            stderr,
            said: String::new(),
        }
    }

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

    /// Waits until it sells.
    fn until_it_sells(&mut self) {
        self.until("s of ");
        assert!(processes(self.place.path()) > 1, "lockstorm and its servers run");
    }

    /// Waits for its end. It has left nothing behind, and has not written the `secret` anywhere.
    fn end(mut self, secret: &str) -> Ended {
        let mut stdout = String::new();
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        assert_eq!(self.place.labs(), [] as [PathBuf; 0], "its lab is gone: {}", self.said);
        eventually("its processes have ended", || processes(self.place.path()) == 0);
        let record = fs::read_to_string(self.place.at("out.json")).ok();
        let log = fs::read_to_string(self.place.at("log")).unwrap_or_default();
        let all = [&stdout, &self.said, &log, record.as_ref().unwrap_or(&stdout)];
        assert!(!secret.is_empty() && all.iter().all(|text| !text.contains(secret)));
        Ended {
            code,
            stdout,
            stderr: self.said,
            record: record.map(|text| serde_json::from_str(&text).unwrap()),
        }
    }
}

/// The processes that were started in or below a directory.
fn processes(directory: &Path) -> usize {
    let directory = directory.to_string_lossy();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let started_here = entries.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&*directory) || cwd.to_string_lossy().contains(&*directory)
    });
    started_here.count()
}

fn arm<'a>(record: &'a Record, name: &str) -> &'a ArmRecord {
    record.arms.iter().find(|arm| arm.name == name).unwrap()
}

/// Plays a scenario on SQLite and on PostgreSQL: all expectations hold on both. `same` are figures that must be the same.
fn same_verdicts(name: &'static str, text: &str, same: &[(&str, Figure)]) {
    let server = Database::start();
    let play = |url: Option<&str>| {
        let place = Place::new(name, text);
        let ended = Run::start(&place, url, &[]).end("no password is here");
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        ended.record.unwrap()
    };
    let (here, there) = (play(None), play(Some(server.url())));
    let verdicts = |record: &Record| -> Vec<(String, CheckResult)> {
        let checked = record.expectations.iter();
        checked
            .map(|checked| (checked.expectation.clone(), checked.result))
            .collect()
    };
    assert_eq!(verdicts(&here), verdicts(&there));
    assert!(verdicts(&here).iter().all(|(_, result)| *result == CheckResult::Held));
    for record in [&here, &there] {
        assert_eq!((record.partial.len(), record.inconclusive.len()), (0, 0));
        assert!(record.arms.iter().all(|arm| arm.figures.counts[Count::Errors] == 0));
    }
    for (name, figure) in same {
        let [here, there] = [&here, &there].map(|record| figure(&arm(record, name).figures));
        assert_eq!(here, there, "{name}");
    }
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_sale_has_the_same_verdicts_on_both_databases() {
    same_verdicts(
        "sale.toml",
        SALE,
        &[
            ("redlock", |f| f.orders),
            ("redlock", |f| f.oversold),
            ("redlock", |f| f.counts[Count::SoldOut]),
            ("atomic", |f| f.orders),
            ("atomic", |f| f.counts[Count::SoldOut]),
        ],
    );
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_stampede_has_the_same_verdicts_on_both_databases() {
    same_verdicts("stampede.toml", STAMPEDE, &[]);
}

/// Plays the long sale for this time, does something to its server while it sells, and checks what is told of that: the run ends as
/// inconclusive, names the database with `words`, and no damage by the lock is reported.
fn dies(words: &str, duration: &str, harm: impl FnOnce(&mut Postgres, &mut Run<'_>)) -> Record {
    let mut server = Postgres::start();
    let place = Place::new("long.toml", LONG);
    let mut run = Run::start(&place, Some(&server.url()), &["--duration", duration]);
    run.until_it_sells();
    harm(&mut server, &mut run);
    let ended = run.end(server.password());
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(5), "{said}");
    let record = ended.record.unwrap();
    for arm in ["local", "redlock"] {
        let named = |text: &String| text.starts_with(&format!("{arm}: ")) && text.contains(words);
        assert!(record.inconclusive.iter().any(named), "{words}: {said}");
    }
    assert!(ended.stdout.contains(words), "{words}: {said}");
    for expectation in &record.expectations {
        assert_eq!(expectation.result, CheckResult::Inconclusive, "{said}");
    }
    let redlock = &arm(&record, "redlock").figures;
    assert_eq!((redlock.lost_updates_peak, redlock.oversold), (0, 0), "{said}");
    for damage in ["first lost updates", "first oversold"] {
        assert!(!said.contains(&format!("redlock: {damage}")), "{said}");
    }
    assert!(!ended.stdout.contains('✔'), "{said}");
    record
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_dies_for_good_is_named() {
    let record = dies("its database was lost in mid-run", "3s", |server, _| {
        server.stop("immediate");
    });
    assert_ne!(record.partial, [""; 0]);
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_crashes_and_comes_back_at_once_counts_nothing_that_came_later() {
    let record = dies("has crashed and started again", "8s", |server, run| {
        server.stop("immediate");
        server.restart();
        run.until("local: its books can't be read: the database has crashed");
    });
    assert_ne!(record.partial, [""; 0]);
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_crashes_and_comes_back_later_counts_nothing_that_came_later() {
    dies("has crashed and started again", "12s", |server, _| {
        server.stop("immediate");
        sleep(Duration::from_secs(2));
        server.restart();
    });
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_that_is_restarted_in_order_keeps_its_books_but_proves_nothing() {
    let record = dies("its database was lost in mid-run", "6s", |server, _| {
        server.stop("fast");
        server.restart();
    });
    assert_eq!(record.partial, [""; 0], "it has forgotten nothing");
}

#[test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
fn a_postgresql_whose_processes_stay_stopped_is_named() {
    dies("its books can't be read: no answer within", "5s", |server, run| {
        server.pause();
        run.until("redlock: its database has not answered for 2 s");
    });
}

/// A run that must be refused because of its database. Returns what it said.
fn refused(url: &str, secret: &str) -> String {
    let place = Place::new("long.toml", LONG);
    let ended = Run::start(&place, Some(url), &[]).end(secret);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
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
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
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
