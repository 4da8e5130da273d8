//! `lockstorm sweep` from outside, on real nodes.

use std::fs;
use std::path::Path;
use std::process::Command;

use lockstorm_data::metrics::Count;
use lockstorm_kit::place::Place;
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::{ended, eventually};
use nix::sys::signal::Signal;

use super::live::{Ended, Live, living};

/// A sale under one lock whose sections take 40 ms.
const SALE: &str = r#"
title = "A short sale"
duration = "1s"
seed = 7
lab = { hosts = 1 }
swarm = { servers = 2, workers = 4, think = "5ms" }
workload = { kind = "inventory", products = 16, stock = 10000, hold = "40ms" }
arm = [
    { name = "single", lock = "single", ttl = "5s", wait = "fail-fast" },
]
"#;

const JOURNAL: &str = "sale.sweep.jsonl";

fn place() -> Place {
    Place::new("sale.toml", SALE)
}

/// `lockstorm sweep ARGUMENTS` in a place.
fn sweep(place: &Place, arguments: &[&str]) -> Command {
    let mut command = lockstorm_kit::lockstorm(place.path(), &[&["sweep"], arguments].concat());
    command.env("TMPDIR", place.at("labs"));
    command
}

/// What it prints on its way to this exit code.
#[track_caller]
fn swept(place: &Place, arguments: &[&str], code: i32) -> (String, String) {
    let (ended, stdout, stderr) = ended(&mut sweep(place, arguments));
    assert_eq!(ended, Some(code), "{stdout}\n{stderr}");
    (stdout, stderr)
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_ttl_that_is_too_short_overruns_and_the_sweep_is_not_played_twice() {
    let place = place();
    let over = ["sale.toml", "--over", "ttl=20ms,5s", "--records", "kept/all"];
    let (stdout, _) = swept(&place, &over, 0);
    let results = lines(&place.at(JOURNAL));
    assert_eq!(results.len(), 3, "{stdout}");
    let overran = |line: usize| results[line]["arms"][0]["overran"].as_u64().unwrap();
    let sections = |line: usize| results[line]["arms"][0]["votes_at_release"][1].as_u64().unwrap();
    assert!(overran(1) > 0 && overran(1) == sections(1), "{stdout}");
    assert!(overran(2) == 0 && sections(2) > 0, "{stdout}");
    let row = |ttl: &str| {
        stdout
            .lines()
            .find(|line| line.starts_with("single") && line.contains(ttl))
            .unwrap()
            .to_owned()
    };
    assert!(row("20ms").contains("100 %") && row("5s").contains("✔ 0"), "{stdout}");

    let (again, stderr) = swept(&place, &over, 0);
    assert!(
        stderr.contains("2 results are there already, 0 are missing"),
        "{stderr}"
    );
    assert_eq!((again, lines(&place.at(JOURNAL)).len()), (stdout, 3));
    let (json, _) = swept(&place, &[&over[..], &["--json", "--quiet"]].concat(), 0);
    let table: serde_json::Value = serde_json::from_str(&json).unwrap();
    let (short, long) = (&table["rows"][0], &table["rows"][1]);
    assert_eq!(
        (&short["arm"], &short["cell"]["ttl"]),
        (&"single".into(), &"20ms".into()),
        "{table:#}"
    );
    assert_eq!(
        (&short["overran"], &short["overran_interval"][1]),
        (&short["sections"], &1.0.into()),
        "{table:#}"
    );
    assert_eq!(
        (&long["overran"], &long["overran_interval"][0]),
        (&0.into(), &0.0.into()),
        "{table:#}"
    );
    assert_eq!(
        (&table["found"], &table["results"]),
        (&serde_json::Value::Null, &JOURNAL.into()),
        "{table:#}"
    );
    // More repeats go on with other seeds, and their records go to those that are there.
    let more = [
        "sale.toml",
        "--over",
        "ttl=5s",
        "--repeat",
        "2",
        "--records",
        "kept/all",
    ];
    swept(&place, &more, 0);
    let results = lines(&place.at(JOURNAL));
    assert_eq!((results.len(), results[3]["seed"].as_u64()), (4, Some(8)));
    let mut kept = names_in(&place.at("kept/all"));
    kept.sort();
    assert_eq!(
        kept,
        ["ttl=20ms,seed=7.json", "ttl=5s,seed=7.json", "ttl=5s,seed=8.json"]
    );
    let record = recorded_in(place.at("kept/all").join(&kept[2]));
    let overran = record.arms[0].figures.counts[Count::Overran];
    assert_eq!(
        (record.seed, Some(overran)),
        (8, results[3]["arms"][0]["overran"].as_u64())
    );
    // Another sweep does not write among them.
    let other = [&more[..], &["--out", "other.jsonl"]].concat();
    let (_, refused) = swept(&place, &other, 2);
    assert!(
        refused.contains("kept/all is not empty") && refused.lines().count() == 1,
        "{refused}"
    );
    assert!(!place.at("other.jsonl").exists());
}

#[test]
fn an_interrupted_sweep_shows_what_it_has_and_leaves_nothing_running() {
    let place = place();
    let command = ["sale.toml", "--over", "ttl=4s,5s", "--duration", "2s"];
    let mut run = Live::start(&place, &mut sweep(&place, &command));
    // The second setting is announced when the first one has its result.
    run.until("(2 of 2)");
    run.send(Signal::SIGTERM);
    let ended = run.over();
    assert_eq!(ended.code, Some(143), "{}", ended.said());
    let (_, rest) = ended.stderr.split_once("(2 of 2)").expect("it was announced");
    assert!(rest.contains("the same command goes on from here"), "{rest}");
    let stdout = ended.stdout;
    let has_row = |ttl: &str| {
        stdout
            .lines()
            .any(|line| line.starts_with("single") && line.contains(ttl))
    };
    assert!(stdout.contains("4s") && !has_row("5s "), "{stdout}");
    assert_eq!(lines(&place.at(JOURNAL)).len(), 2);
    // The keeper of a lab that was being set up ends a moment later.
    let labs = place.at("labs");
    eventually("no lab is left", || {
        living(&labs).is_empty() && fs::read_dir(&labs).is_ok_and(|mut left| left.next().is_none())
    });
    assert_eq!(place.others(), [JOURNAL]);
}

#[test]
fn one_command_leads_from_a_question_to_a_page_and_goes_on_where_it_was_interrupted() {
    let place = place();
    let run = [
        "run",
        "sale.toml",
        "--over",
        "ttl=20ms,5s",
        "--repeat",
        "2",
        "-o",
        "page.html",
    ];
    let command = || {
        let mut command = lockstorm_kit::lockstorm(place.path(), &run);
        command.env("TMPDIR", place.at("labs"));
        command
    };
    let mut first = Live::start(&place, &mut command());
    // There and back: both settings with the first seed, then with the second one the other way round.
    first.until("ttl 20ms, seed 7 (1 of 4)");
    first.until("ttl 5s, seed 7 (2 of 4)");
    first.until("ttl 5s, seed 8 (3 of 4)");
    first.send(Signal::SIGINT);
    let Ended { code, stderr, .. } = first.end();
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("the same command goes on from here"), "{stderr}");

    let (code, stdout, stderr) = ended(&mut command());
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(
        stderr.contains("2 results are there already, 2 are missing"),
        "{stderr}"
    );
    assert!(
        stderr.contains("the records are in sale.runs, the report is page.html"),
        "{stderr}"
    );
    // Two of each show nothing, and say so.
    let blind = "? too few to show anything, whatever they are: 2 against 2";
    assert!(stdout.contains(blind), "{stdout}");
    assert!(stdout.contains("arm.*.ttl: \"20ms\" against \"5s\""), "{stdout}");
    let page = fs::read_to_string(place.at("page.html")).unwrap();
    assert!(stdout.starts_with("held"), "{stdout}");
    for part in [
        "In how many runs each lock held",
        blind,
        "2 runs of 1 s",
        "ttl 20ms",
        "ttl 5s",
    ] {
        assert!(page.contains(part), "{part:?} is missing");
    }
    assert_eq!(
        names_in(&place.at("sale.runs")).len(),
        5,
        "four records and their results"
    );
    let refused = |arguments: &[&str], why: &str| {
        let (code, _, stderr) = ended(&mut lockstorm_kit::lockstorm(place.path(), arguments));
        assert!(code == Some(2) && stderr.contains(why), "{arguments:?}: {stderr}");
    };
    let over_a_record = [&run[..7], &["sale.runs/results.jsonl"]].concat();
    refused(&over_a_record, "lies among the records");
    refused(&["run", "sale.toml", "--over", "seed=1,2"], "makes another scenario");
}

#[test]
fn one_journal_has_one_sweep_at_a_time_and_a_killed_one_leaves_it_free() {
    let place = place();
    let over = ["sale.toml", "--over", "ttl=4s,5s"];
    let mut first = Live::start(&place, &mut sweep(&place, &over));
    first.until("(2 of 2)");
    let (_, refused) = swept(&place, &over, 1);
    assert!(refused.lines().count() == 1, "{refused}");
    for part in [JOURNAL, "another sweep", "--out"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // It is killed.
    drop(first);
    assert_eq!(lines(&place.at(JOURNAL)).len(), 2, "nobody else has written to it");

    let (_, stderr) = swept(&place, &over, 0);
    assert!(
        stderr.contains("1 results are there already, 1 are missing"),
        "{stderr}"
    );
    let results = lines(&place.at(JOURNAL));
    assert!(
        results.len() == 3 && results[1]["cell"] != results[2]["cell"],
        "{results:?}"
    );
}

#[test]
fn a_sweep_whose_journal_is_taken_away_or_replaced_says_so() {
    for replacement in [None, Some("dear diary\n")] {
        let place = place();
        let mut run = Live::start(&place, &mut sweep(&place, &["sale.toml", "--over", "ttl=4s,5s"]));
        run.until("(1 of 2)");
        fs::rename(place.at(JOURNAL), place.at("away")).unwrap();
        if let Some(text) = replacement {
            fs::write(place.at(JOURNAL), text).unwrap();
        }
        let ended = run.end();
        assert_eq!(ended.code, Some(1), "{}", ended.said());
        let said = ended.stderr.lines().last().unwrap();
        assert!(
            said.contains(JOURNAL) && said.contains("removed or replaced"),
            "{}",
            ended.stderr
        );
        let now = fs::read_to_string(place.at(JOURNAL)).ok();
        assert_eq!(now.as_deref(), replacement);
    }
}

#[test]
fn the_largest_rate_is_searched() {
    let place = place();
    let search = ["sale.toml", "--find-max", "rate", "--while", "acquired <= 25"];
    // Requests at a rate start when they are due.
    let (_, refused) = swept(&place, &search, 2);
    assert!(
        refused.contains("contradicts rate") && refused.contains("set think to 0s"),
        "{refused}"
    );
    let search = [&search[..], &["--set", "swarm.think=0s"]].concat();
    let (stdout, stderr) = swept(&place, &search, 0);
    let found = stdout
        .lines()
        .find(|line| line.contains("is the largest that held"))
        .expect("it is found");
    let rate: f64 = found.split_whitespace().nth(1).unwrap().parse().unwrap();
    // As many as arrive in the second; arrivals are random.
    assert!((14.0..40.0).contains(&rate), "{stdout}\n{stderr}");
}

#[test]
fn mistakes_are_found_before_anything_starts() {
    let place = place();
    fs::write(place.at("diary"), "dear diary\n").unwrap();
    let many = (1..=1001).map(|n| format!("{n}s")).collect::<Vec<_>>().join(",");
    let cases: [(&[&str], &str); 10] = [
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
        (
            &["sale.toml", "--over", "ttl=1s", "--records", "diary"],
            "cannot keep records in diary",
        ),
    ];
    for (arguments, said) in cases {
        let (stdout, stderr) = swept(&place, arguments, 2);
        assert!(stderr.contains(said) && stdout.is_empty(), "{arguments:?}: {stderr}");
    }
    assert_eq!(fs::read_to_string(place.at("diary")).unwrap(), "dear diary\n");
    assert_eq!(place.others(), ["diary"]);
    assert_eq!(fs::read_dir(place.at("labs")).unwrap().count(), 0);
}
