//! Readers of the other formats that know only what is documented of those.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::checker::{Checker, export};
use lockstorm_data::history::Reader;

/// The files for a history with these lines.
fn files(to: Checker, lines: &[String]) -> Vec<(String, String)> {
    let head = r#"{"history":1,"lockstorm":"0.0.0","clock":"CLOCK_MONOTONIC, ns","arms":["redlock"],"stock":10}"#;
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let text = format!("{head}\n{lines}");
    export(Reader::open(text.as_bytes()).unwrap(), to).unwrap()
}

fn asked(worker: usize, key: &str, [call, back]: [i64; 2], result: &str) -> String {
    format!(
        r#"{{"op":"acquire","client":"s1w{worker}","arm":"redlock","key":"{key}","call":{call},"return":{back},"result":"{result}"}}"#
    )
}

/// A hold: when it was asked for, from when until when its holder relied on it, and when it was given back.
fn hold(worker: usize, key: &str, [call, from, until, back]: [i64; 4]) -> [String; 2] {
    let release = format!(
        r#"{{"op":"release","client":"s1w{worker}","arm":"redlock","key":"{key}","call":{until},"return":{back},"result":"ok","left":{until}}}"#
    );
    [asked(worker, key, [call, from], "ok"), release]
}

fn sale(order: i64, read: u64) -> String {
    let written = read - 1;
    format!(
        r#"{{"op":"sale","client":"s1w0","arm":"redlock","product":3,"order":{order},"read":{read},"written":{written},"at":1}}"#
    )
}

/// Two holds that touch, one that nobody could rely on, a refusal, an acquire of unknown outcome, and another key.
fn some() -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(hold(0, "a/1", [0, 10, 20, 22]));
    lines.push(asked(1, "a/1", [12, 13], "busy"));
    lines.extend(hold(1, "a/1", [14, 20, 30, 31]));
    lines.push(asked(2, "a/1", [24, 28], "unknown"));
    lines.extend(hold(3, "a/1", [25, 27, 27, 28]));
    lines.extend(hold(2, "b", [30, 35, 40, 50]));
    lines.push(r#"{"fault":"killed host 1","at":23}"#.to_owned());
    lines
}

/// Go's `encoding/json` puts such an object into a `porcupine.Operation`, whose times are `int64`. A client does one thing at a time.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct GoOperation {
    client_id: u32,
    input: HashMap<String, String>,
    call: i64,
    output: String,
    #[serde(rename = "Return")]
    returned: i64,
}

#[test]
fn porcupine_gets_operations() {
    let files = files(Checker::Porcupine, &some());
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "redlock.json");
    let operations: Vec<GoOperation> = serde_json::from_str(&files[0].1).unwrap();
    let mut free: HashMap<(&str, u32), i64> = HashMap::new();
    let told: Vec<_> = operations
        .iter()
        .map(|one| {
            let (op, key) = (one.input["op"].as_str(), one.input["key"].as_str());
            assert!(["acquire", "release"].contains(&op) && one.call <= one.returned);
            let before = free.insert((key, one.client_id), one.returned);
            assert!(before.is_none_or(|before| before < one.call), "{key} {}", one.client_id);
            (key, op, one.output.as_str(), [one.call, one.returned])
        })
        .collect();
    let expected = [
        ("a/1", "acquire", "ok", [0, 10]),
        ("a/1", "acquire", "busy", [12, 13]),
        ("a/1", "acquire", "ok", [14, 20]),
        ("a/1", "release", "ok", [20, 22]),
        // Nobody knows whether it was done, so it may be done until the end.
        ("a/1", "acquire", "unknown", [24, 31]),
        ("a/1", "release", "ok", [30, 31]),
        ("b", "acquire", "ok", [30, 35]),
        ("b", "release", "ok", [40, 50]),
    ];
    assert_eq!(told, expected);
}

/// What the README of Knossos says: a map for each event, in their order; an invocation comes before its completion; a process does one
/// thing at a time, and after `:info` nothing more.
fn knossos_accepts(edn: &str) -> Vec<(u32, String, String)> {
    let (mut busy, mut crashed) = (HashMap::new(), HashSet::new());
    let events: Vec<(u32, String, String)> = edn
        .lines()
        .map(|line| {
            let map = line.strip_prefix('{').and_then(|line| line.strip_suffix('}')).unwrap();
            let fields: HashMap<&str, &str> = map.split(", ").map(|pair| pair.split_once(' ').unwrap()).collect();
            assert_eq!(fields[":value"], "nil");
            let word = |name| fields[name].strip_prefix(':').unwrap().to_owned();
            (fields[":process"].parse().unwrap(), word(":type"), word(":f"))
        })
        .collect();
    for (process, kind, f) in &events {
        assert!(!crashed.contains(process), "{process} is crashed");
        match (kind.as_str(), f.as_str()) {
            ("invoke", "acquire" | "release") => assert_eq!(busy.insert(process, f), None, "{process}"),
            ("ok" | "fail" | "info", f) => assert_eq!(busy.remove(process).map(String::as_str), Some(f), "{process}"),
            other => panic!("{other:?}"),
        }
        if kind == "info" {
            crashed.insert(process);
        }
    }
    assert!(busy.is_empty());
    events
}

#[test]
fn knossos_gets_events() {
    let files = files(Checker::Knossos, &some());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["redlock.a%2f1.edn", "redlock.b.edn"]);
    assert_eq!(knossos_accepts(&files[1].1).len(), 4);
    let events = knossos_accepts(&files[0].1);
    let brief: Vec<String> = events
        .iter()
        .map(|(process, kind, f)| format!("{process} {kind} {f}"))
        .collect();
    let expected = [
        "0 invoke acquire",
        "0 ok acquire",
        "0 invoke acquire",
        "0 fail acquire",
        "0 invoke acquire",
        // The first one's belief ends when the second one's begins: they overlap, so either may come first.
        "1 invoke release",
        "0 ok acquire",
        "1 ok release",
        "0 invoke acquire",
        "0 info acquire",
        "1 invoke release",
        "1 ok release",
    ];
    assert_eq!(brief, expected);
}

#[derive(Deserialize)]
struct Transaction {
    index: usize,
    process: u32,
    #[serde(rename = "type")]
    kind: String,
    f: String,
    value: Vec<(String, u64, Value)>,
}

/// What the README of elle-cli says of `list-append`: one array; a read has the whole list, or null before it is known; an append adds a
/// number that is unique for its list.
fn elle_accepts(json: &str) -> Vec<(i64, Option<Vec<i64>>)> {
    let all: Vec<Transaction> = serde_json::from_str(json).unwrap();
    let (mut busy, mut added, mut done) = (HashMap::new(), HashSet::new(), Vec::new());
    for (index, one) in all.into_iter().enumerate() {
        assert_eq!((one.index, one.f.as_str()), (index, "txn"));
        let [(r, list, read), (append, to, added_one)] = &one.value[..] else {
            panic!("{:?}", one.value);
        };
        assert_eq!((r.as_str(), append.as_str(), list), ("r", "append", to));
        let number = added_one.as_i64().unwrap();
        let read: Option<Vec<i64>> = serde_json::from_value(read.clone()).unwrap();
        if one.kind == "invoke" {
            assert!(added.insert((*list, number)) && read.is_none());
            assert_eq!(busy.insert(one.process, number), None);
        } else {
            assert_eq!(busy.remove(&one.process), Some(number));
            assert_eq!(read.is_some(), one.kind == "ok");
            done.push((number, read));
        }
    }
    assert!(busy.is_empty());
    done
}

#[test]
fn elle_gets_lists() {
    // Two have read 9 units; what the last one read nobody has left. Rows may come in any order.
    let files = files(
        Checker::Elle,
        &[sale(2, 9), sale(1, 10), sale(4, 9), sale(5, 8), sale(7, 3), sale(4, 9)],
    );
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "redlock.json");
    let expected = [
        (1, Some(vec![])),
        (2, Some(vec![1])),
        // A lost update: both have read this list, and appended to it.
        (4, Some(vec![1])),
        (5, Some(vec![1, 4])),
        (7, None),
    ];
    assert_eq!(elle_accepts(&files[0].1), expected);
}

#[test]
fn what_nobody_sold_and_nobody_held_makes_no_file() {
    for to in [Checker::Porcupine, Checker::Knossos, Checker::Elle] {
        assert_eq!(files(to, &[]), []);
    }
}

#[test]
fn what_a_client_can_not_have_done_is_told_with_its_line() {
    let [_, release] = hold(0, "a", [0, 1, 2, 3]);
    let text = format!("{{\"history\":1,\"lockstorm\":\"\",\"clock\":\"\",\"arms\":[]}}\n{release}\n");
    let error = export(Reader::open(text.as_bytes()).unwrap(), Checker::Knossos).unwrap_err();
    assert!(
        error.to_string().starts_with("line 2: s1w0 does not hold \"a\" then;"),
        "{error}"
    );
}
