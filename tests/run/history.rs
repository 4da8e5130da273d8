//! Histories of real runs: the record, our own judge and a checker that is not ours say the same of them.

use std::fs;

use lockstorm_data::facts::EventKind;
use lockstorm_data::metrics::{Entry, Time};
use lockstorm_data::scenario::builtin;
use lockstorm_kit::place::Place;
use lockstorm_kit::play::arm;
use lockstorm_kit::{ended, lockstorm, witness};
use lockstorm_run::Record;
use serde_json::Value;

/// Locks in processes of their own exclude nobody in the other one; nobody believes in no lock. Sections are long enough for a node
/// that comes back empty, and an app server that dies in the middle of them.
const RUN: &str = r#"
title    = "Locks that hold and locks that don't"
duration = "5s"
swarm = { servers = 2, workers = 8, think = "5ms" }
workload = { kind = "inventory", products = 12, stock = 1000000, hold = { median = "800ms", sigma = 0.3 } }
arm = [
    { name = "no lock", lock = "none" },
    { name = "in process", lock = "local" },
    { name = "single", lock = "single", ttl = "2s", wait = "fail-fast" },
    { name = "redlock", lock = "redlock", ttl = "2s", wait = "fail-fast" },
]
fault = [
    { at = "1s", do = "kill", on = "host:1", for = "100ms" },
    { at = "4s", do = "kill", on = "server:2" },
]
"#;

/// Plays it with a history, and lets the three judges compare what they found. Returns the record and the history.
fn judged(place: &Place, arguments: &[&str]) -> (Record, String) {
    let arguments = [arguments, &["--quiet", "--history", "h.jsonl", "--record", "out.json"]].concat();
    let (code, _, stderr) = ended(&mut place.command(&arguments));
    assert!(matches!(code, Some(0 | 3 | 5)), "{code:?}: {stderr}");
    let record: Record = serde_json::from_slice(&fs::read(place.at("out.json")).unwrap()).unwrap();
    let history = fs::read_to_string(place.at("h.jsonl")).unwrap();
    let (code, table, stderr) = ended(&mut lockstorm(place.path(), &["record", "judge", "h.jsonl"]));
    let witnessed = witness::keys(&history);
    let mut doubles = 0;
    for arm in &record.arms {
        let broken = witnessed.get(&arm.name).map_or(&[][..], |(_, broken)| broken);
        let found = [arm.figures.double_holds, arm.figures.double_uses];
        assert_eq!(!broken.is_empty(), found[0] > 0, "{}: {found:?} {broken:?}", arm.name);
        // When the first one began, how long each lasted, and the evidence of all of them.
        let overlaps = arm.figures.times[Time::Overlap].count;
        let evidence = arm.evidence.iter().map(|double| double.second.from_us).min();
        assert_eq!(overlaps, found[0], "{}", arm.name);
        assert_eq!(arm.evidence.len().min(100) as u64, found[0].min(100), "{}", arm.name);
        assert_eq!(arm.figures.first_double_hold_us, evidence, "{}", arm.name);
        let row = table
            .lines()
            .find_map(|line| line.strip_prefix(arm.name.as_str()))
            .expect(&table);
        let figures: Vec<&str> = row.split_whitespace().filter(|cell| *cell != "✖").skip(1).collect();
        let [mut double_holds, double_uses] = found.map(|figure| figure.to_string());
        if arm.name == "no lock" {
            "–".clone_into(&mut double_holds);
        }
        assert_eq!(
            figures,
            [double_holds, double_uses, "0".to_owned()],
            "{}:\n{table}",
            arm.name
        );
        // Those of an arm without a lock are no surprise.
        doubles += found[0] + if arm.name == "no lock" { 0 } else { found[1] };
    }
    assert_eq!(code, Some(if doubles > 0 { 3 } else { 0 }), "{table}{stderr}");
    (record, history)
}

#[test]
fn three_judges_agree_on_locks_that_hold_and_on_locks_that_do_not() {
    let place = Place::new("run.toml", RUN);
    // A node that forgets may break both locks on nodes: the redlock, if it has held one with only two votes. One that does not forget
    // breaks neither.
    judged(&place, &[]);
    let (record, history) = judged(&place, &["--set", "lab.persistence=aof-always"]);
    for (name, is_broken) in [
        ("no lock", false),
        ("in process", true),
        ("single", false),
        ("redlock", false),
    ] {
        assert_eq!(arm(&record, name).figures.double_holds > 0, is_broken, "{name}");
    }
    // Everything that a history tells.
    for what in [
        r#""result":"busy""#,
        r#""op":"sale""#,
        r#""client":"s2w7""#,
        r#""until":"#,
        r#"{"fault":"host 1 killed"#,
    ] {
        assert!(history.contains(what), "{what}");
    }
    let unanswered = |line: &&str| line.contains("\"release\"") && line.contains("\"unknown\"");
    assert!(
        history.lines().any(|line| unanswered(&line)),
        "an app server has died in the middle of its sections"
    );
    let sales = history.lines().filter(|line| line.contains(r#""op":"sale""#)).count() as u64;
    let orders: u64 = record.arms.iter().map(|arm| arm.figures.booked(Entry::Orders)).sum();
    assert_eq!(sales, orders);
    for (to, ending, files) in [
        ("porcupine", "json", 3..=3),
        ("knossos", "edn", 30..=36),
        ("elle", "json", 4..=4),
    ] {
        let arguments = ["record", "history", "h.jsonl", "--to", to, "--out", to];
        let (code, stdout, stderr) = ended(&mut lockstorm(place.path(), &arguments));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(files.contains(&stdout.lines().count()), "{stdout}");
        for name in stdout.lines() {
            assert!(
                name.ends_with(ending) && fs::metadata(place.at(name)).unwrap().len() > 2,
                "{name}"
            );
        }
    }
}

#[test]
fn a_history_that_can_not_be_written_or_read_is_told_before_anything_starts() {
    let place = Place::new("run.toml", RUN);
    let (code, _, stderr) = ended(&mut place.command(&["--history", "missing/h.jsonl"]));
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("cannot write the history to missing/h.jsonl: No such file"),
        "{stderr}"
    );
    let (code, _, stderr) = ended(&mut place.command(&["--history", "/dev/full"]));
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("it is not a regular file; name another one"),
        "{stderr}"
    );
    assert!(place.labs().is_empty());
    fs::write(place.at("other.json"), "{\"format\":4}").unwrap();
    for arguments in [
        vec!["judge", "other.json"],
        vec!["history", "other.json", "--to", "elle", "--out", "x"],
    ] {
        let (code, _, stderr) = ended(&mut lockstorm(place.path(), &[&["record"], &arguments[..]].concat()));
        assert_eq!(code, Some(2));
        assert!(
            stderr.contains("cannot read other.json: line 1: missing field `history`"),
            "{stderr}"
        );
    }
    assert!(!place.at("x").exists());
}

#[test]
#[ignore = "slow: .ci/long histories"]
fn three_judges_agree_on_ten_runs_of_the_built_in_scenarios() {
    for name in [
        "single-vs-redlock",
        "paused-client",
        "failover",
        "wait-one",
        "zombie-master",
    ] {
        let scenario = builtin::ALL.iter().find(|scenario| scenario.name == name).unwrap();
        for seed in ["1", "2"] {
            let place = Place::new("run.toml", scenario.text);
            let (record, history) = judged(&place, &["--seed", seed]);
            for arm in &record.arms {
                let figures = &arm.figures;
                println!(
                    "{name} {seed} {}: {} double holds, {} double uses, {} lines in all",
                    arm.name,
                    figures.double_holds,
                    figures.double_uses,
                    history.lines().count()
                );
            }
        }
    }
}

const PAYMENTS: &str = r#"
title    = "Payments"
duration = "3s"
swarm = { servers = 2, workers = 8, think = "2ms" }
workload = { kind = "payment", accounts = 6, money = 1000, hold = { median = "2ms", sigma = 0.3 } }
arm = [
    { name = "no lock", lock = "none" },
    { name = "payer", lock = "single", ttl = "60s", node_timeout = "10s", wait = "queue", timeout = "60s", locks = "payer" },
    { name = "both", lock = "redlock", ttl = "60s", node_timeout = "10s", wait = "queue", timeout = "60s" },
]
"#;

/// The money that the orders of an arm made and lost, from the balances that they left: a payment takes 1 off, and adds 1.
fn made_and_lost(history: &str, arm: &str) -> (i64, i64) {
    let mut sales: Vec<Value> = history
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    sales.retain(|line| line["op"] == "sale" && line["arm"] == arm);
    sales.sort_by_key(|sale| sale["order"].as_i64());
    let (mut balances, mut made, mut lost) = ([1000; 6], 0, 0);
    for sale in sales {
        let [account, read, written] = ["product", "read", "written"].map(|field| sale[field].as_i64().unwrap());
        let balance = &mut balances[usize::try_from(account).unwrap()];
        let off = written - (*balance + written - read);
        *balance = written;
        made += off.max(0);
        lost -= off.min(0);
    }
    assert_eq!(balances.iter().sum::<i64>(), 6_000 + made - lost, "{arm}");
    (made, lost)
}

#[test]
fn orders_of_payments_prove_what_money_is_made_and_lost() {
    let place = Place::new("run.toml", PAYMENTS);
    let (record, history) = judged(&place, &[]);
    for (name, is_kept) in [("no lock", false), ("payer", false), ("both", true)] {
        let figures = &arm(&record, name).figures;
        let found = [figures.booked(Entry::MoneyMade), figures.booked(Entry::MoneyLost)].map(u64::cast_signed);
        assert_eq!(<[i64; 2]>::from(made_and_lost(&history, name)), found, "{name}");
        assert!(found.iter().all(|money| (*money == 0) == is_kept), "{name}: {found:?}");
        let others = [Entry::Orders, Entry::LostUpdates, Entry::Oversold, Entry::RunAgain];
        assert_eq!(others.map(|entry| figures.ledger[entry]), [None; 4]);
        for text in ["money is made from nothing", "money is lost: "] {
            let is_told = record.events.iter().any(|event| {
                event.text().contains(text) && matches!(&event.kind, EventKind::Damage { arm, .. } if arm == name)
            });
            assert_eq!(is_told, !is_kept, "{name}: {text}");
        }
        let sales = history
            .lines()
            .filter(|line| line.contains(r#""op":"sale""#) && line.contains(&format!("\"{name}\"")));
        assert_eq!(sales.count() as u64, 2 * figures.booked(Entry::Payments), "{name}");
    }
    let arguments = ["record", "history", "h.jsonl", "--to", "elle", "--out", "elle"];
    let (code, stdout, stderr) = ended(&mut lockstorm(place.path(), &arguments));
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("nothing that this checker judges"), "{stderr}");
}
