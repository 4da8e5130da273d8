//! The figures of runs as CSV, a line for each figure of each arm of each run.

use strum::VariantArray;

use super::group::Runs;
use crate::report::columns::Arm;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::metrics::{Group, Metric, Unit, Value};

/// The figures that docs/figures.md lists, as far as an arm has them, under the names that records give them; the value is empty where
/// there was nothing to measure.
pub(super) fn figures<'a>(runs: impl Iterator<Item = &'a Runs>) -> Result<String, Box<dyn std::error::Error>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["file", "seed", "arm", "figure", "value", "unit"])?;
    for (file, record) in runs.flat_map(Runs::with_files) {
        for arm in Arm::all_of_record(record) {
            let has = |metric: &&Metric| metric.row().group != Group::Now && arm.has(metric.row().group);
            for metric in Metric::VARIANTS.iter().filter(has) {
                let value = value(*metric, &arm);
                let seed = record.seed.to_string();
                writer.write_record([file, &seed, arm.name, metric.name(), &value, unit(*metric)])?;
            }
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// As a record has it.
fn value(metric: Metric, arm: &Arm<'_>) -> String {
    let value = metric.of(arm.figures);
    match metric.row().value {
        _ if !metric.is_known(arm.figures) => String::new(),
        Value::Mean(..) | Value::PerSecond(_) => value.to_string(),
        _ => rounded(value).to_string(),
    }
}

const fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        _ if matches!(metric, Metric::UnavailableMs | Metric::AllUnavailableMs) => "ms",
        Unit::Micros => "us",
        Unit::PerSecond => "per second",
        Unit::Count => "count",
    }
}
