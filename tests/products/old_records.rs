//! Records that an older program has written can be converted.

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
