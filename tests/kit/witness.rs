//! A judge of locks that is not ours: the checker of linearizability porcupine-rs, whose model of a lock knows no validity. It reads a
//! history by what the docs say of its lines.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use porcupine_rs::{CheckResult, Model, Operation, check_operations_timeout};
use serde_json::Value;

/// The call and return of each operation on a lock, and whether it acquires it.
type Uses = Vec<([i64; 2], bool)>;

/// A lock that one can hold at a time.
#[derive(Clone)]
struct Mutex;

impl Model for Mutex {
    /// Whether it is held.
    type State = bool;
    /// Whether it is to be held.
    type Op = bool;
    type Metadata = ();

    fn init() -> bool {
        false
    }

    fn step(is_held: &bool, acquires: &bool) -> (bool, bool) {
        (is_held != acquires, *acquires)
    }
}

/// For each arm of a history the keys whose lock can't have been one: those that some hold relied on, and those that were broken.
pub fn keys(history: &str) -> BTreeMap<String, (usize, Vec<String>)> {
    let (mut open, mut uses) = (HashMap::new(), BTreeMap::new());
    for line in history.lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        let time = |name: &str| line[name].as_i64().unwrap();
        match line["op"].as_str() {
            Some("acquire") if line["result"] == "ok" => {
                open.insert(
                    (text("arm"), text("client"), text("key")),
                    [time("call"), time("return")],
                );
            }
            Some("release") => {
                let acquired = open.remove(&(text("arm"), text("client"), text("key"))).unwrap();
                // Otherwise nobody could ever rely on it.
                if time("call") > acquired[1] {
                    let of_arm: &mut BTreeMap<String, Uses> = uses.entry(text("arm")).or_default();
                    let of_key = of_arm.entry(text("key")).or_default();
                    of_key.extend([(acquired, true), ([time("call"), time("return")], false)]);
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let judged = |(arm, keys): (String, BTreeMap<String, Uses>)| {
        let all = keys.len();
        let broken = keys.into_iter().filter(|(_, uses)| !is_a_lock(uses));
        (arm, (all, broken.map(|(key, _)| key).collect()))
    };
    uses.into_iter().map(judged).collect()
}

fn is_a_lock(uses: &Uses) -> bool {
    let operation = |([call_time, return_time], op): &([i64; 2], bool)| Operation::<Mutex> {
        client_id: None,
        call_time: *call_time,
        return_time: *return_time,
        op: *op,
        metadata: None,
    };
    let operations: Vec<_> = uses.iter().map(operation).collect();
    match check_operations_timeout(&operations, Duration::from_mins(1)) {
        CheckResult::Ok => true,
        CheckResult::Illegal => false,
        CheckResult::Unknown => panic!("no answer within a minute"),
    }
}
