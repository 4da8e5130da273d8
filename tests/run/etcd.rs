//! Locks on a real etcd, held against what etcd itself has noted of every key.
//!
//! All need an etcd, 3.4 or newer; `make test-etcd` runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::{ConsequenceKind, Count, Entry};
use lockstorm_data::model::HostId;
use lockstorm_kit::eventually;
use lockstorm_kit::place::Place;
use lockstorm_kit::play::arm;
use lockstorm_run::Record;

use super::live::{Live, living};

/// Each member fails once, and each in another way.
const DEATHS: &str = r#"
title = "etcd"
duration = "13s"
seed = 1
swarm = { servers = 2, workers = 4, think = "5ms" }
workload = { kind = "inventory", products = 2, stock = 1000000, hold = "5ms" }
arm = [{ name = "etcd", lock = "etcd", ttl = "3s" }]
fault = [
    { at = "2s", do = "kill", on = "host:1", for = "2s" },
    { at = "5s", do = "pause", on = "host:2", for = "1500ms" },
    { at = "8s", do = "disk-loss", on = "host:3", for = "2s" },
]
[expect]
"etcd.acquired"         = ">= 100"
"etcd.double_holds"     = "== 0"
"etcd.lost_updates"     = "== 0"
"etcd.locks_lost"       = "== 0"
"etcd.unavailable_ms"   = "< 10000"
"#;

/// A holder sleeps for longer than its lease lasts: with and without a fence.
const PAUSED: &str = r#"
title = "etcd"
duration = "9s"
seed = 1
swarm = { servers = 2, workers = 12 }
workload = { kind = "inventory", products = 16, stock = 1000000, hold = "400ms" }
arm = [
    { name = "bare", lock = "etcd", ttl = "2s" },
    { name = "fenced", lock = "etcd", ttl = "2s", fence = "read-write" },
]
fault = [{ at = "2s", do = "pause", on = "server:1", for = "4s" }]
[expect]
"bare.lost_updates"   = ">= 1"
"bare.double_holds"   = "== 0"
"bare.locks_lost"     = ">= 1"
"fenced.lost_updates" = "== 0"
"fenced.fenced"       = ">= 1"
"fenced.double_holds" = "== 0"
"#;

/// Two of three members die, so that nothing is granted for a while.
const NO_MAJORITY: &str = r#"
title = "etcd"
duration = "8s"
seed = 1
swarm = { servers = 2, workers = 3, think = "5ms" }
workload = { kind = "inventory", products = 2, stock = 1000000, hold = "5ms" }
arm = [{ name = "etcd", lock = "etcd", ttl = "2s", timeout = "500ms" }]
fault = [{ at = "1s", do = "kill", on = "host:1", for = "4s" }, { at = "1s", do = "kill", on = "host:2", for = "4s" }]
[expect]
"etcd.refused_seconds" = ">= 2"
"etcd.unavailable_ms"  = ">= 2000"
"etcd.lost_updates"    = "== 0"
"etcd.double_holds"    = "== 0"
"#;

/// What a member answers to a request, to the end of the connection.
fn ask(member: &str, path: &str, token: Option<&str>, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(member).expect("a member");
    let body = body.to_string();
    let token = token.map_or_else(String::new, |token| format!("Authorization: {token}\r\n"));
    let length = body.len();
    let request = format!(
        "POST /v3/{path} HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n{token}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it is sent");
    stream
}

/// The messages in what was answered. What else is there are headers and the sizes of chunks.
fn messages(mut stream: TcpStream) -> Vec<Value> {
    let mut all = Vec::new();
    // It may be reset when the member ends.
    let _ = stream.read_to_end(&mut all);
    let all = String::from_utf8_lossy(&all).into_owned();
    let lines = all.lines().filter(|line| line.starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The member of etcd on this host, and what lets one in.
fn member(lab: &Path, host: u64) -> (String, String) {
    let card: Value = serde_json::from_slice(&fs::read(lab.join("lab.json")).expect("a card")).expect("JSON");
    let nodes = card["nodes"].as_array().expect("a list");
    let found = nodes
        .iter()
        .find(|node| node[0]["role"] == "etcd" && node[0]["host"] == host);
    let member = found.expect("a member")[1].as_str().expect("a text").to_owned();
    let conf = fs::read_to_string(lab.join("nodes.conf")).expect("the file of the password");
    let password = conf
        .lines()
        .find_map(|line| line.strip_prefix("requirepass "))
        .expect("a password");
    let user = json!({ "name": "root", "password": password });
    let answer = messages(ask(&member, "auth/authenticate", None, &user))
        .pop()
        .expect("an answer");
    (member, answer["token"].as_str().expect("a token").to_owned())
}

/// A number of 64 bits in JSON.
fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// By the revisions that made them, the keys of which etcd has told, and the revisions that deleted them.
type Keys = BTreeMap<u64, (String, Option<u64>)>;

fn keys(told: &[Value]) -> Keys {
    let (mut keys, mut present) = (Keys::new(), BTreeMap::new());
    for event in told
        .iter()
        .flat_map(|told| told["result"]["events"].as_array().into_iter().flatten())
    {
        let (kv, text) = (&event["kv"], |value: &Value| {
            String::from_utf8(STANDARD.decode(value.as_str().unwrap_or_default()).unwrap()).unwrap()
        });
        let (key, revision) = (text(&kv["key"]), number(&kv["mod_revision"]));
        match event["type"].as_str() {
            Some("DELETE") => {
                let made: u64 = present.remove(&key).expect("it was made before");
                keys.get_mut(&made).expect("it was made before").1 = Some(revision);
            }
            _ => {
                assert_eq!(number(&kv["create_revision"]), revision, "{key} is written once");
                present.insert(key.clone(), revision);
                keys.insert(revision, (key, None));
            }
        }
    }
    keys
}

/// Whether a member on another host than the first was elected.
fn elected(event: &Event) -> bool {
    matches!(event.kind, EventKind::Leader { host } if host != HostId(1))
}

/// How many members were left each time that one failed while locks of this arm were held.
fn kept(record: &Record, name: &str) -> Vec<usize> {
    let consequences = arm(record, name).figures.consequences.iter();
    let left = consequences.filter_map(|one| match one.kind {
        ConsequenceKind::KeptByOthers { members, .. } => Some(members),
        _ => None,
    });
    left.collect()
}

fn ended(run: Live<'_>, place: &Place) -> Record {
    let ended = run.end();
    eventually("its processes have ended", || living(&place.at("labs")).is_empty());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    ended.record.expect("a record")
}

#[test]
#[ignore = "needs etcd: make test-etcd"]
fn etcd_itself_has_noted_that_each_lock_had_one_holder_through_the_failure_of_each_member() {
    let place = Place::new("etcd.toml", DEATHS);
    let mut run = Live::start(
        &place,
        &mut place.command(&["--record", "out.json", "--history", "out.jsonl"]),
    );
    run.until_it_sells();
    let (member, token) = member(&place.labs()[0], 2);
    // Nobody gets in who does not know the password.
    let stranger = messages(ask(&member, "kv/range", None, &json!({ "key": STANDARD.encode("x") })));
    assert_eq!(stranger[0]["message"], "etcdserver: user name is empty");
    let all = json!({ "create_request": { "key": STANDARD.encode("\0"), "range_end": STANDARD.encode("\0"), "start_revision": "1" } });
    let watch = ask(&member, "watch", Some(&token), &all);
    let told = thread::spawn(move || messages(watch));
    let record = ended(run, &place);
    let keys = keys(&told.join().expect("it has ended"));

    assert!(record.events.iter().any(elected), "host 1 was the leader, and died");
    assert!(!kept(&record, "etcd").is_empty());

    let history = fs::read_to_string(place.at("out.jsonl")).expect("a history");
    let lines: Vec<Value> = history
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of = |op: &'static str| lines.iter().filter(move |line| line["op"] == op);
    let granted: Vec<&Value> = of("acquire").filter(|line| line["result"] == "ok").collect();
    let measured = granted.iter().filter(|line| line["warm_up"] != true).count() as u64;
    let figures = &arm(&record, "etcd").figures;
    assert!(
        measured.abs_diff(figures.outcomes.acquired) <= 8,
        "{measured} {}",
        figures.outcomes.acquired
    );
    let mut holders: BTreeMap<&str, BTreeMap<u64, &Value>> = BTreeMap::new();
    for line in &granted {
        let (key, fence) = (line["key"].as_str().unwrap(), line["fence"].as_u64().unwrap());
        let (made, _) = &keys[&fence];
        assert_eq!(
            made.rsplit_once('/').unwrap().0,
            key,
            "the fence is the revision of its key"
        );
        let before = holders.entry(key).or_default().insert(fence, line);
        assert!(before.is_none(), "{fence} was granted twice");
    }
    assert_eq!(holders.len(), 2);
    let release = |line: &Value| of("release").find(|one| one["token"] == line["token"] && one["key"] == line["key"]);
    for holders in holders.values() {
        let pairs = holders.iter().zip(holders.iter().skip(1));
        for ((fence, first), (_, second)) in pairs {
            assert!(keys[fence].1.is_some(), "etcd has deleted the key of the first");
            let left = release(first).expect("it was released")["call"].as_u64().unwrap();
            assert!(left <= second["return"].as_u64().unwrap(), "{first} {second}");
        }
    }
    let never_held: BTreeSet<&u64> = keys
        .keys()
        .filter(|fence| !holders.values().any(|held| held.contains_key(fence)))
        .collect();
    let not_granted = figures.outcomes.total() - figures.outcomes.acquired;
    assert!(
        never_held.len() as u64 <= not_granted + 8,
        "{} {not_granted}",
        never_held.len()
    );
}

#[test]
#[ignore = "needs etcd: make test-etcd"]
fn a_holder_that_sleeps_past_its_lease_does_damage_unless_the_revision_of_its_key_fences_it() {
    let place = Place::new("etcd.toml", PAUSED);
    let record = ended(
        Live::start(&place, &mut place.command(&["--record", "out.json"])),
        &place,
    );
    assert!(!record.events.iter().any(elected), "no member failed");
    assert!(kept(&record, "fenced").is_empty());
    let figures = &arm(&record, "fenced").figures;
    assert_eq!(figures.booked(Entry::LostUpdatesPeak), 0);
    assert!(figures.counts[Count::Fenced] > 0);
}

#[test]
#[ignore = "needs etcd: make test-etcd"]
fn without_a_majority_of_members_nothing_is_granted() {
    let place = Place::new("etcd.toml", NO_MAJORITY);
    let mut run = Live::start(&place, &mut place.command(&["--record", "out.json"]));
    run.until("host 2 killed");
    thread::sleep(Duration::from_secs(2));
    let record = ended(run, &place);
    assert!(
        kept(&record, "etcd").iter().all(|members| *members == 2),
        "one of three keeps nothing"
    );
    let figures = &arm(&record, "etcd").figures;
    assert!(figures.outcomes.no_quorum + figures.outcomes.unknown > 0);
    assert!(figures.outcomes.acquired > 0);
}
