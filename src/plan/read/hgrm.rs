//! The percentile files of HdrHistogram: `Value Percentile TotalCount 1/(1-Percentile)`.

use super::csv;
use super::unit::TimeUnit;

/// The header by which such a file is known.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().take(20).any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("Value") && words.next() == Some("Percentile") && words.next() == Some("TotalCount")
    })
}

/// Values in seconds with the number of those that are not larger, and the number of all.
pub(super) fn read(text: &str, unit: Option<TimeUnit>) -> Result<(Vec<(f64, f64)>, f64), String> {
    let unit = unit.ok_or("a .hgrm file does not say its unit; say --unit us, ms or s")?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let lines = text.lines().enumerate();
    for (index, line) in lines
        .skip_while(|(_, line)| !line.trim_start().starts_with("Value"))
        .skip(1)
    {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || {
            format!(
                "line {}: \"{}\" is not \"value percentile count …\"",
                index + 1,
                line.trim()
            )
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let [value, _, count, ..] = words[..] else {
            return Err(wrong());
        };
        let (Ok(number), Ok(count)) = (value.parse::<f64>(), count.parse::<f64>()) else {
            return Err(wrong());
        };
        let seconds = csv::check(value, number * unit.seconds()).map_err(|why| format!("line {}: {why}", index + 1))?;
        if points.last().is_some_and(|last| last.0 > seconds || last.1 > count) {
            return Err(format!("line {}: values and counts must ascend", index + 1));
        }
        points.push((seconds, count));
    }
    let n = points.last().map_or(0.0, |last| last.1);
    Ok((points, n))
}
