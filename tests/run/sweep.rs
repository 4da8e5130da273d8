//! `lockstorm sweep` from outside, on real nodes.

use lockstorm_kit::beside;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A sale under one lock whose sections take 40 ms.
const SALE: &str = r#"
title    = "A short sale"
duration = "1s"
seed     = 7
[lab]
hosts = 1
[swarm]
servers = 2
workers = 4
think   = "5ms"
[workload]
kind     = "inventory"
products = 16
stock    = 10000
hold     = "40ms"
[[arm]]
name = "single"
lock = "single"
ttl  = "5s"
wait = "fail-fast"
"#;

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("sale.toml"), SALE).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstorm"));
        command
            .arg("sweep")
            .args(arguments)
            .current_dir(self.dir.path())
            .env("TMPDIR", self.dir.path());
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn texts(output: &Output, code: i32) -> (String, String) {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{stdout}\n{stderr}");
    (stdout, stderr)
}

#[test]
fn a_ttl_that_is_too_short_overruns_and_the_sweep_is_not_played_twice() {
    let _lab = beside();
    let place = Place::new();
    let over = ["sale.toml", "--over", "ttl=20ms,5s"];
    let (stdout, _) = texts(&place.sweep(&over), 0);
    let results = lines(&place.path("sale.sweep.jsonl"));
    assert_eq!(results.len(), 3, "{stdout}");
    let overran = |line: usize| results[line]["arms"][0]["overran"].as_u64().unwrap();
    let sections = |line: usize| results[line]["arms"][0]["votes_at_release"][1].as_u64().unwrap();
    assert!(overran(1) > 20 && overran(1) == sections(1), "{stdout}");
    assert!(overran(2) == 0 && sections(2) > 20, "{stdout}");
    let row = |ttl: &str| {
        stdout
            .lines()
            .find(|line| line.starts_with("single") && line.contains(ttl))
            .unwrap()
            .to_owned()
    };
    assert!(row("20ms").contains("100 %") && row("5s").contains("✔ 0"), "{stdout}");

    let (again, stderr) = texts(&place.sweep(&over), 0);
    assert!(
        stderr.contains("2 results are there already, 0 are missing"),
        "{stderr}"
    );
    assert_eq!((again, lines(&place.path("sale.sweep.jsonl")).len()), (stdout, 3));
    // More repeats go on with other seeds.
    texts(&place.sweep(&["sale.toml", "--over", "ttl=5s", "--repeat", "2"]), 0);
    let results = lines(&place.path("sale.sweep.jsonl"));
    assert_eq!((results.len(), results[3]["seed"].as_u64()), (4, Some(8)));
}

#[test]
fn an_interrupted_sweep_shows_what_it_has_and_leaves_nothing_running() {
    let _lab = beside();
    let place = Place::new();
    let mut sweep = place
        .command(&["sale.toml", "--over", "ttl=4s,5s", "--duration", "2s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(sweep.stderr.take().unwrap()).lines();
    // The second setting is announced when the first one has its result.
    let told = stderr
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("(2 of 2)"));
    assert!(told.is_some());
    kill(Pid::from_raw(sweep.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    let (stdout, _) = texts(&sweep.wait_with_output().unwrap(), 143);
    assert!(
        rest.iter()
            .any(|line| line.contains("the same command goes on from here")),
        "{rest:?}"
    );
    assert!(
        stdout.contains("4s")
            && !stdout
                .lines()
                .any(|line| line.starts_with("single") && line.contains("5s ")),
        "{stdout}"
    );
    assert_eq!(lines(&place.path("sale.sweep.jsonl")).len(), 2);
    let left: Vec<_> = fs::read_dir(place.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "a lab's directory is left: {left:?}");
}

/// A sweep that is under way, and the lines that it tells from now on.
fn begin(place: &Place, arguments: &[&str]) -> (Child, impl Iterator<Item = String>) {
    let mut command = place.command(arguments);
    let mut sweep = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(sweep.stderr.take().unwrap()).lines().map(Result::unwrap);
    (sweep, told)
}

const JOURNAL: &str = "sale.sweep.jsonl";

#[test]
fn one_journal_has_one_sweep_at_a_time_and_a_killed_one_leaves_it_free() {
    let _lab = beside();
    let place = Place::new();
    let over = ["sale.toml", "--over", "ttl=4s,5s"];
    let (mut first, mut told) = begin(&place, &over);
    assert!(told.any(|line| line.contains("(2 of 2)")));
    let (_, refused) = texts(&place.sweep(&over), 1);
    assert!(refused.lines().count() == 1, "{refused}");
    for part in [JOURNAL, "another sweep", "--out"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(lines(&place.path(JOURNAL)).len(), 2, "nobody else has written to it");

    let (_, stderr) = texts(&place.sweep(&over), 0);
    assert!(
        stderr.contains("1 results are there already, 1 are missing"),
        "{stderr}"
    );
    let results = lines(&place.path(JOURNAL));
    assert!(
        results.len() == 3 && results[1]["cell"] != results[2]["cell"],
        "{results:?}"
    );
}

#[test]
fn a_sweep_whose_journal_is_taken_away_or_replaced_says_so() {
    let _lab = beside();
    for replacement in [None, Some("dear diary\n")] {
        let place = Place::new();
        let (sweep, mut told) = begin(&place, &["sale.toml", "--over", "ttl=4s,5s"]);
        assert!(told.any(|line| line.contains("(1 of 2)")));
        fs::rename(place.path(JOURNAL), place.path("away")).unwrap();
        if let Some(text) = replacement {
            fs::write(place.path(JOURNAL), text).unwrap();
        }
        let rest: Vec<String> = told.collect();
        texts(&sweep.wait_with_output().unwrap(), 1);
        let said = rest.last().unwrap();
        assert!(
            said.contains(JOURNAL) && said.contains("removed or replaced"),
            "{rest:?}"
        );
        let now = fs::read_to_string(place.path(JOURNAL)).ok();
        assert_eq!(now.as_deref(), replacement);
    }
}

#[test]
fn the_largest_rate_is_searched() {
    let _lab = beside();
    let place = Place::new();
    let open = SALE.replace("think   = \"5ms\"", "rate = \"40/s\"");
    fs::write(place.path("open.toml"), open).unwrap();
    let search = ["open.toml", "--find-max", "rate", "--while", "acquired <= 100"];
    let (stdout, stderr) = texts(&place.sweep(&search), 0);
    let found = stdout
        .lines()
        .find(|line| line.contains("is the largest that held"))
        .expect("it is found");
    let rate: f64 = found.split_whitespace().nth(1).unwrap().parse().unwrap();
    // As many as arrive in the second; arrivals are random.
    assert!((60.0..160.0).contains(&rate), "{stdout}\n{stderr}");
}

#[test]
fn mistakes_are_found_before_anything_starts() {
    let place = Place::new();
    fs::write(place.path("diary"), "dear diary\n").unwrap();
    let many = (1..=1001).map(|n| format!("{n}s")).collect::<Vec<_>>().join(",");
    let cases: [(&[&str], &str); 9] = [
        (&["sale.toml"], "--over"),
        (&["sale.toml", "--over", "ttl"], "write KEY=VALUE,VALUE"),
        (&["sale.toml", "--over", "ttl=1s,soon"], "\"soon\" is not a duration"),
        (&["sale.toml", "--over", "tll=1s"], "ttl"),
        (
            &["sale.toml", "--over", &format!("ttl={many}")],
            "1001 settings are too many to play",
        ),
        (&["sale.toml", "--over", "ttl=1s", "--over", "ttl=2s"], "is there twice"),
        (
            &["sale.toml", "--find-max", "rate", "--while", "fast"],
            "is not a condition",
        ),
        (
            &["sale.toml", "--over", "ttl=1s", "--out", "diary"],
            "diary holds something other than results",
        ),
        (
            &["sale.toml", "--over", "ttl=1s", "--out", "none/there"],
            "cannot use none/there",
        ),
    ];
    for (arguments, said) in cases {
        let output = place.sweep(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains(said) && output.stdout.is_empty(),
            "{arguments:?}: {stderr}"
        );
    }
    assert_eq!(fs::read_to_string(place.path("diary")).unwrap(), "dear diary\n");
    assert_eq!(fs::read_dir(place.dir.path()).unwrap().count(), 2);
}
