//! Records that an older program has written can be converted.

use lockstorm_data::facts::{Caveat, Event};
use lockstorm_kit::old_records::converted;
use serde_json::{Value, json};

fn record(workload: &str, arm: &Value) -> Value {
    json!({ "scenario": { "workload": { "kind": workload } }, "arms": [arm] })
}

#[test]
fn an_old_record_gets_the_names_of_its_workload() {
    let old = json!({
        "orders": 9, "oversold": 0, "lost_updates": 0, "lost_updates_peak": 0, "run_again": 2, "missed": 1, "money_made": 0, "money_lost": 0,
        "unguarded": null, "lacks": ["inventory", "payment"], "figures": { "orders": null, "runs": 9, "acquired": 3 },
        "series": { "points": [{ "second": 0, "orders": 5, "oversold": 2 }] }, "after_end": { "orders": 4 },
    });
    let new = json!({
        "runs": 9, "run_again": 2, "missed": 1,
        "lacks": ["inventory", "payment"], "figures": { "runs": 9, "acquired": 3 },
        "series": { "points": [{ "second": 0, "runs": 5, "run_again": 2 }] }, "after_end": { "runs": 4 },
    });
    assert_eq!(converted(record("job", &old)), record("job", &new));
    assert_eq!(converted(record("job", &new)), record("job", &new));
    let old = json!({ "orders": 9, "money_lost": 2, "after_end": { "orders": 9, "oversold": 2, "lost_updates": 1 } });
    let new =
        json!({ "payments": 9, "money_lost": 2, "after_end": { "payments": 9, "money_lost": 2, "money_made": 1 } });
    assert_eq!(converted(record("payment", &old)), record("payment", &new));
    let [old, new] = [json!({ "orders": 0, "after_end": {} }), json!({ "after_end": {} })];
    assert_eq!(converted(record("cache-fill", &old)), record("cache-fill", &new));
}

#[test]
fn the_sentences_of_an_old_record_become_data_that_says_the_same() {
    let told = [
        "redlock: its database was lost in mid-run: disk I/O error",
        "no: 2,000 of 10,000 requests failed, the first: timeout",
        "r: 1,098 of 3,090 requests (36 %) were due and never begun, since no worker was free: times and percentiles cover only the 1,992 \
         that ended. Lower the rate, or add workers",
        "host 1 says that it has the master, and so does host 3",
        "somebody said something else",
    ];
    let happened = [
        (json!({ "kind": "phase" }), "checking for stuck locks, for up to 9 s"),
        (
            json!({ "kind": "damage", "arm": "a" }),
            "a: more is sold than there is: of product 61, 1 too many",
        ),
        (
            json!({ "kind": "double_hold", "arm": "a" }),
            "a: first double hold at 4.478 s: s2w1 and s3w1 both hold a:product:58",
        ),
        (
            json!({ "kind": "lock", "arm": "a" }),
            "a: all acquires failing: no vote from host 1: down (connection refused)",
        ),
        (
            json!({ "kind": "lock", "arm": "a" }),
            "a: all acquires failing: host 1 silent (no reply in time), host 3 down (connection refused)",
        ),
        (
            json!({
                "kind": "fault", "action": "kill", "target": { "host": 1 }, "order": null, "ends": null, "effect_at_us": 4_512_000,
                "proof": [{ "finding": "process_gone", "by": "keeper", "of": "host 1", "at_us": 4_512_000 }], "error": null,
            }),
            "host 1 killed: a has no quorum (1 of 3) (its process is gone, effective after 12 ms, fault 2)",
        ),
    ];
    let event = |(id, (kind, text)): (usize, &(Value, &str))| json!({ "id": id, "at_us": 4_500_000, "kind": kind, "text": text });
    let events: Vec<Value> = happened.iter().enumerate().map(event).collect();
    let new = converted(json!({ "arms": [{ "name": "a" }], "warnings": told, "events": events }));
    let caveats: Vec<Caveat> = serde_json::from_value(new["warnings"].clone()).unwrap();
    assert_eq!(caveats.iter().map(Caveat::to_string).collect::<Vec<_>>(), told);
    let events: Vec<Event> = serde_json::from_value(new["events"].clone()).unwrap();
    assert_eq!(
        events.iter().map(Event::text).collect::<Vec<_>>(),
        happened.map(|(_, text)| text)
    );
}
