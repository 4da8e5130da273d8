//! The percentile files of HdrHistogram: `Value Percentile TotalCount 1/(1-Percentile)`.

use super::length;
use super::lines::Lines;
use super::unit::TimeUnit;

/// The header by which such a file is known, which is in its first lines.
pub(super) fn is_one(lines: &mut Lines<'_>) -> Result<bool, String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()?.filter(|(number, _)| *number <= 20) {
        let mut words = line.split_whitespace();
        if words.next() == Some("Value") && words.next() == Some("Percentile") && words.next() == Some("TotalCount") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Values in seconds with the number of those that are not larger, and the number of all.
pub(super) fn read(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<(Vec<(f64, f64)>, f64), String> {
    let unit = unit.ok_or("a .hgrm file does not say its unit; say --unit ns, us, ms or s")?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    lines.rewind()?;
    let mut is_head = true;
    while let Some((number, line)) = lines.next()? {
        if is_head {
            is_head = !line.trim_start().starts_with("Value");
            continue;
        }
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let wrong = || format!("line {number}: \"{}\" is not \"value percentile count …\"", line.trim());
        let words: Vec<&str> = line.split_whitespace().collect();
        let [value, _, count, ..] = words[..] else {
            return Err(wrong());
        };
        let (Ok(length), Ok(count)) = (value.parse::<f64>(), count.parse::<f64>()) else {
            return Err(wrong());
        };
        let seconds = length::check(value, length * unit.seconds()).map_err(|why| format!("line {number}: {why}"))?;
        if points.last().is_some_and(|last| last.0 > seconds || last.1 > count) {
            return Err(format!("line {number}: values and counts must ascend"));
        }
        points.push((seconds, count));
    }
    let n = points.last().map_or(0.0, |last| last.1);
    Ok((points, n))
}
