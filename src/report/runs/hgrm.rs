//! How long it took to get a lock, as the percentiles of an HdrHistogram, which its plotters and `lockstorm plan` read.

use std::fmt::Write as _;

use super::group::Runs;
use lockstorm_data::model::printable;

/// The percentiles of one arm over all runs, in milliseconds; the arm need not be named if only one was granted locks. It is a function
/// of the records alone.
///
/// # Errors
/// There is no such arm, it was granted no lock, or several were; or a record has a text that is no histogram.
pub fn runs_hgrm(runs: &Runs, arm: Option<&str>) -> Result<String, String> {
    let mut with = Vec::new();
    for (index, one) in runs.first().arms.iter().enumerate() {
        let acquired = runs
            .acquired(index)
            .map_err(|error| format!("a record can't be used: {error}"))?;
        if !acquired.is_empty() {
            with.push((one.name.as_str(), acquired));
        }
    }
    let names: Vec<String> = with
        .iter()
        .map(|(name, _)| format!("\"{}\"", printable(name)))
        .collect();
    let names = names.join(", ");
    let (_, acquired) = match (arm, with.as_slice()) {
        (_, []) => return Err("no arm was granted a lock, or these are journals, which have no histograms".to_owned()),
        (None, [one]) => one,
        (None, _) => {
            return Err(format!(
                "several arms were granted locks: choose one with --arm: {names}"
            ));
        }
        (Some(name), with) => with
            .iter()
            .find(|(other, _)| *other == name)
            .ok_or_else(|| format!("no arm \"{name}\" was granted a lock: those that were are {names}"))?,
    };
    let ms = |us: f64| us / 1e3;
    let mut text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n".to_owned();
    let mut total = 0;
    // Five steps for each half of what is left, as HdrHistogram's own programs write them. Writing to a text can't fail.
    for step in acquired.iter_quantiles(5) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (ms(step.value_iterated_to() as f64), step.quantile_iterated_to());
        let _ = write!(text, "{value:12.3} {quantile:14.12} {total:10}");
        let _ = match 1.0 - quantile {
            left if left > 0.0 => writeln!(text, " {:14.2}", 1.0 / left),
            _ => writeln!(text),
        };
    }
    let (mean, deviation) = (ms(acquired.mean()), ms(acquired.stdev()));
    let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let (most, all) = (ms(acquired.max() as f64), acquired.len());
    let _ = writeln!(text, "#[Max     = {most:12.3}, Total count    = {all:12}]");
    let _ = writeln!(
        text,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        acquired.buckets(),
        2048
    );
    Ok(text)
}
