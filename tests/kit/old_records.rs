//! Records that an older program has written, in the present form, so that a collection of them outlives the format.

use super::old_texts::typed;
use lockstorm_data::metrics::Metric;
use serde_json::{Map, Value, json};

/// The names that each record had, whatever its workload.
const OF_ALL: [&str; 8] = [
    "orders",
    "oversold",
    "lost_updates",
    "lost_updates_peak",
    "run_again",
    "missed",
    "money_made",
    "money_lost",
];

/// The record as this program would have written it; one in the present form stays as it is.
pub fn converted(mut record: Value) -> Value {
    typed(&mut record);
    keep_facts(&mut record);
    let workload = record["scenario"]["workload"]["kind"].clone();
    let arms = record["arms"].as_array_mut().into_iter().flatten();
    for arm in arms.filter_map(Value::as_object_mut) {
        name_ledger(workload.as_str().unwrap_or_default(), arm);
        leave_out_others(arm);
    }
    record
}

/// Before conclusions were made anew when a record is read, some facts stood only in them: the doubt of what a program had reported, the loss
/// of the cache node, and that the machine was busy until the end.
fn keep_facts(record: &mut Value) {
    let doubts = record["inconclusive"].as_array().cloned().unwrap_or_default();
    if record.get("processor_wait").is_none() {
        let busy = |caveat: &&Value| caveat["caveat"] == "machine_busy";
        let warnings = record["warnings"].as_array().into_iter().flatten();
        let busy: Vec<f64> = warnings
            .filter(busy)
            .filter_map(|caveat| caveat["percent"].as_f64())
            .collect();
        // It was told when it began, and again at the end.
        if let [_, .., last] = busy[..] {
            record["processor_wait"] = json!(last / 100.0);
        }
    }
    let Some(warnings) = record.get_mut("warnings").and_then(Value::as_array_mut) else {
        return;
    };
    for warning in warnings.iter_mut() {
        if warning["caveat"] == "node_changed" && doubts.contains(warning) {
            warning["loses_cache"] = json!(true);
        }
    }
    for doubt in doubts {
        if !warnings.contains(&doubt) {
            warnings.insert(0, doubt);
        }
    }
}

/// Before format 5 was released, points had the names of `inventory`, and arms those of all workloads.
fn name_ledger(workload: &str, arm: &mut Map<String, Value>) {
    // How the first three are called in points, and what an arm keeps.
    let (names, own): (_, &[&str]) = match workload {
        "inventory" => (["orders", "oversold", "lost_updates"], &OF_ALL[..4]),
        "job" => (["runs", "run_again", "lost_updates"], &["run_again", "missed"]),
        "payment" => (["payments", "money_lost", "money_made"], &["money_made", "money_lost"]),
        _ => (["orders", "oversold", "lost_updates"], &[]),
    };
    rename(arm, "orders", names[0]);
    arm.retain(|name, _| !OF_ALL.contains(&name.as_str()) || own.contains(&name.as_str()));
    let mut points: Vec<&mut Value> = Vec::new();
    for (name, value) in arm {
        match name.as_str() {
            "series" => points.extend(value["points"].as_array_mut().into_iter().flatten()),
            "after_end" => points.push(value),
            _ => {}
        }
    }
    for point in points.into_iter().filter_map(Value::as_object_mut) {
        for (old, new) in OF_ALL.into_iter().zip(names) {
            rename(point, old, new);
        }
    }
}

/// Before format 5 was released, the figures of other workloads were null.
fn leave_out_others(arm: &mut Map<String, Value>) {
    if arm.get("unguarded").is_some_and(Value::is_null) {
        arm.remove("unguarded");
    }
    let lacks = arm.get("lacks").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_of_another = |name: &str| {
        let metric: Option<Metric> = serde_json::from_value(json!(name)).ok();
        let group = metric.map(|metric| metric.row().group);
        group.is_some_and(|group| group.is_of_a_workload() && lacks.contains(&json!(group)))
    };
    if let Some(figures) = arm.get_mut("figures").and_then(Value::as_object_mut) {
        figures.retain(|name, _| !is_of_another(name));
    }
}

fn rename(fields: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.insert(new.to_owned(), value);
    }
}
