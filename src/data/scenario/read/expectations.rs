//! `[expect]`.

use super::super::expectation::Expectation;
use super::super::reader::Reader;
use super::super::tree::Value;
use super::comparison::{self, Known};
use crate::metrics::{Group, Metric};

pub(super) fn read(reader: &Reader<'_>, known: Known<'_>) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for (key, node) in reader.entries() {
        let found = match &node.value {
            Value::Text(text) => comparison::figure(key, known).and_then(|(arm, metric)| {
                check(metric)?;
                comparison::bounds(text, &arm, metric)
            }),
            Value::Table(_) => Err(format!(
                "is a table; put the whole name in quotes: \"{key}.oversold\" = \"== 0\""
            )),
            other => {
                let is = other.kind();
                Err(format!("is {is}; write a comparison in quotes, like \"== 0\""))
            }
        };
        match found {
            Ok(found) => expectations.extend(found),
            Err(message) => reader.log.add(&node.at, &reader.key(key), message),
        }
    }
    expectations
}

/// Checks whether there is such a figure at the end of a run.
fn check(metric: Metric) -> Result<(), String> {
    if metric.row().group == Group::Now {
        return Err(format!(
            "{} is a figure of the moment: it has no final value, so only the `when` of a fault can use it",
            metric.name()
        ));
    }
    Ok(())
}
