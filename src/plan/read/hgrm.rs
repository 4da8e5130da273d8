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

/// Equivalent values of a histogram with three significant digits differ by this part at most; so do the smallest one and its row.
const EQUIVALENT: f64 = 0.001;

/// Values in seconds with the number of those that are not larger, and the number of all.
pub(super) fn read(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<(Vec<(f64, f64)>, f64), String> {
    let unit = unit.ok_or("a .hgrm file does not say its unit; say --unit ns, us, ms or s")?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    lines.rewind()?;
    let (mut is_head, mut last) = (true, 1.0);
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
        let [value, percentile, count, ..] = words[..] else {
            return Err(wrong());
        };
        let (Ok(length), Ok(percentile), Ok(count)) =
            (value.parse::<f64>(), percentile.parse::<f64>(), count.parse::<f64>())
        else {
            return Err(wrong());
        };
        let seconds = length::check(value, length * unit.seconds()).map_err(|why| format!("line {number}: {why}"))?;
        if points.last().is_some_and(|last| last.0 > seconds || last.1 > count) {
            return Err(format!("line {number}: values and counts must ascend"));
        }
        // The row of the percentile 0 is the smallest value, and not the end of a bucket that begins at 0.
        if points.is_empty() && percentile <= 0.0 {
            points.push((seconds * (1.0 - EQUIVALENT), 0.0));
        }
        last = percentile;
        points.push((seconds, count));
    }
    if last < 1.0 {
        return Err(format!(
            "the last row is that of the percentile {last}: those of the largest values are missing; write the file again, to its end"
        ));
    }
    let n = points.last().map_or(0.0, |last| last.1);
    Ok((points, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Result<(Vec<(f64, f64)>, f64), String> {
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("it is written");
        read(&mut Lines::of(&file, text.len() as u64), Some(TimeUnit::Seconds))
    }

    #[test]
    fn the_smallest_value_is_no_end_of_a_bucket_that_begins_at_0() {
        let (points, n) = points("Value Percentile TotalCount\n10.0 0.0 500\n10.0 0.5 500\n12.0 1.0 1000\n").unwrap();
        assert_eq!(n.to_bits(), 1000_f64.to_bits());
        let [(least, none), ..] = points[..] else {
            panic!("points")
        };
        assert!(none <= 0.0 && least > 9.98 && least < 10.0, "{points:?}");
    }

    #[test]
    fn a_file_that_ends_before_its_largest_values_is_refused() {
        let refused = points("Value Percentile TotalCount\n10.0 0.0 500\n12.0 0.99 990\n").unwrap_err();
        assert!(
            refused.contains("the last row is that of the percentile 0.99"),
            "{refused}"
        );
    }
}
