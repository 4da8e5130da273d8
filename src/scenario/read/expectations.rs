//! `[expect]`.

use super::super::condition::Expectation;
use super::super::reader::Reader;
use super::super::spec::ArmSpec;
use super::super::tree::Value;
use super::super::words::Words;
use super::super::workload::WorkloadSpec;
use super::condition;
use crate::metrics::{Group, Metric};

pub(super) fn read(reader: &Reader<'_>, arms: &[ArmSpec], workload: &WorkloadSpec) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for (key, node) in reader.entries() {
        let found = match &node.value {
            Value::Text(text) => condition::figure(key, arms).and_then(|(arm, metric)| {
                check(metric, workload)?;
                condition::bounds(text, &arm, metric)
            }),
            Value::Table(_) => Err(format!(
                "is a table; put the whole name in quotes: \"{key}.oversold\" = \"== 0\""
            )),
            other => Err(format!(
                "is {}; write a comparison in quotes, like \"== 0\"",
                other.kind()
            )),
        };
        match found {
            Ok(found) => expectations.extend(found),
            Err(message) => reader.log.add(&node.at, &reader.key(key), message),
        }
    }
    expectations
}

/// Checks whether the workload has this figure at the end of a run.
fn check(metric: Metric, workload: &WorkloadSpec) -> Result<(), String> {
    let (name, group) = (metric.name(), metric.row().group);
    if group == Group::Now {
        return Err(format!(
            "{name} is a figure of the moment: it has no final value, so only the `when` of a fault can use it"
        ));
    }
    let own = workload.about().groups();
    if !group.is_of_a_workload() || own.contains(&group) {
        Ok(())
    } else if group == Group::Pages && own.contains(&Group::CacheFill) {
        Err(format!("no cache has pages, so there are no {name}"))
    } else {
        let kind = workload.name().word();
        Err(format!("{} workload has no {name}", with_article(&kind)))
    }
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
