//! A histogram as Prometheus prints it: `name_bucket{…,le="0.05"} 123`.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::Lines;
use super::unit::TimeUnit;

/// Whether the text has such a line.
pub(super) fn is_one(lines: &mut Lines<'_>) -> Result<bool, String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()? {
        if bucket(line).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The upper bounds of the buckets in seconds with the number of values that are not larger, and the number of all; buckets with
/// the same bound and other labels are added up. A name without a unit is in seconds, as Prometheus recommends.
pub(super) fn read(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<(Vec<(f64, f64)>, f64), String> {
    let (mut names, mut counts) = (BTreeSet::new(), BTreeMap::new());
    lines.rewind()?;
    while let Some((line_number, line)) = lines.next()? {
        let Some((name, bound, count)) = bucket(line) else {
            continue;
        };
        let at = |why: String| format!("line {line_number}: {why}");
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
        let unit = TimeUnit::named(name, unit).map_err(at)?.unwrap_or(TimeUnit::Seconds);
        let number = |text: &str| {
            text.parse::<f64>()
                .map_err(|_| at(format!("\"{text}\" is not a number")))
        };
        let seconds = number(bound)? * unit.seconds();
        let count = number(count)?;
        if seconds.is_nan() || seconds < 0.0 || !(count >= 0.0 && count.is_finite()) {
            return Err(at("a bucket has a bound and a count, 0 or more".to_owned()));
        }
        // Bounds of the same text are the same number; positive floats are in the order of their bits.
        *counts.entry(seconds.to_bits()).or_insert(0.0) += count;
    }
    if names.len() > 1 {
        let names: Vec<String> = names.into_iter().collect();
        return Err(format!(
            "has several histograms ({}); leave the one of the holds",
            names.join(", ")
        ));
    }
    let mut points: Vec<(f64, f64)> = counts
        .into_iter()
        .map(|(bits, count)| (f64::from_bits(bits), count))
        .collect();
    let n = match points.pop() {
        Some((bound, all)) if bound.is_infinite() => all,
        _ => return Err("has no bucket with le=\"+Inf\", so the number of all holds is unknown".to_owned()),
    };
    if points.windows(2).any(|two| two[0].1 > two[1].1) || points.last().is_some_and(|last| last.1 > n) {
        return Err("has counts that fall; buckets of a Prometheus histogram are cumulative".to_owned());
    }
    if points.is_empty() {
        return Err("has no bucket with a finite bound".to_owned());
    }
    Ok((points, n))
}

/// The name, the bound and the count of a bucket's line.
fn bucket(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.trim().split_once("_bucket{")?;
    let (labels, count) = rest.rsplit_once('}')?;
    let (before, bound) = labels.split_once("le=\"")?;
    let is_a_label = before.is_empty() || before.ends_with([',', ' ']);
    let (bound, _) = bound.split_once('"')?;
    // A time stamp may follow.
    is_a_label.then(|| Some((name, bound, count.split_whitespace().next()?)))?
}
