//! `[expect]`.

use super::super::condition::Expectation;
use super::super::metric::Metric;
use super::super::reader::Reader;
use super::super::spec::{ArmSpec, WorkloadSpec};
use super::super::tree::Value;
use super::condition;
use super::kind;

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

/// Whether the workload can have the figure at the end of a run.
fn check(metric: Metric, workload: &WorkloadSpec) -> Result<(), String> {
    let name = metric.name();
    let inventory = matches!(
        metric,
        Metric::Orders | Metric::Oversold | Metric::LostUpdates | Metric::SoldOut | Metric::Fenced
    );
    let cache_fill = matches!(
        metric,
        Metric::DbHits
            | Metric::DbHitsPerExpiry
            | Metric::DbHitsPerExpiryMax
            | Metric::Hits
            | Metric::StaleReads
            | Metric::GaveUp
            | Metric::DuplicatePages
            | Metric::MissingPages
    );
    let pages = matches!(metric, Metric::DuplicatePages | Metric::MissingPages);
    match workload {
        _ if matches!(metric, Metric::Holding | Metric::Partial) => Err(format!(
            "{name} is a figure of the moment, for the `when` of a fault; it has no final value"
        )),
        WorkloadSpec::Inventory(_) if cache_fill => Err(format!("an {} workload has no {name}", kind(workload))),
        WorkloadSpec::CacheFill { .. } if inventory => Err(format!("a {} workload has no {name}", kind(workload))),
        WorkloadSpec::CacheFill { caches } if pages && caches.iter().all(|cache| cache.pages.is_none()) => {
            Err(format!("no cache has pages, so there are no {name}"))
        }
        _ => Ok(()),
    }
}
