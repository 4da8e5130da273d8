//! Runs as JSON, an object for each on a line of its own: its record without histograms, and what the page concludes from it.

use serde_json::{Value, json};

use super::group::Runs;
use crate::report::columns::Arm;
use lockstorm_run::Record;

/// The objects. `exit_code` is that of the run with this record, if it was a run.
pub(super) fn objects<'a>(
    runs: impl Iterator<Item = &'a Runs>,
    exit_code: impl Fn(&Record) -> Option<u8>,
) -> serde_json::Result<String> {
    let mut lines = String::new();
    for (file, record) in runs.flat_map(Runs::with_files) {
        let mut object = serde_json::to_value(record)?;
        without_histograms(&mut object);
        object["file"] = file.into();
        object["exit_code"] = exit_code(record).into();
        for (index, arm) in Arm::all_of_record(record).iter().enumerate() {
            object["arms"][index]["verdict"] = json!(arm.judged.name());
        }
        lines += &format!("{object}\n");
    }
    Ok(lines)
}

/// Histograms are most of a record, and what reads them can read the record.
fn without_histograms(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "histogram" | "histograms"));
            fields.values_mut().for_each(without_histograms);
        }
        Value::Array(values) => values.iter_mut().for_each(without_histograms),
        _ => {}
    }
}
