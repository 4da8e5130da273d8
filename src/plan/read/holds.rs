use std::path::Path;

use super::lines::Lines;
use super::unit::TimeUnit;
use super::{csv, hgrm, prometheus};
use crate::error::PlanError;
use crate::measured::Measured;
use crate::spread::Spread;
use lockstorm_base::input;

/// The largest file that is read, in MB.
const LARGEST: u64 = 512;

/// Holds from a file: CSV, the percentiles of an HdrHistogram (.hgrm), or the text of a Prometheus histogram.
///
/// # Errors
/// The file can't be read, or is none of these; the error names the line.
pub fn holds_of_file(path: &Path, unit: Option<TimeUnit>) -> Result<Spread, PlanError> {
    let wrong = |why: String| PlanError::new(format!("{}: {why}", path.display()));
    let opened = input::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (size, file) = opened.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if size > LARGEST << 20 {
        return Err(wrong(format!(
            "is larger than {LARGEST} MB; make a histogram of it, or take every tenth line"
        )));
    }
    measured(&mut Lines::of(&file, size), unit)
        .map(Spread::Measured)
        .map_err(wrong)
}

fn measured(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<Measured, String> {
    if hgrm::is_one(lines)? {
        hgrm::read(lines, unit).and_then(|(points, n)| Measured::of_points(points, n))
    } else if prometheus::is_one(lines)? {
        prometheus::read(lines, unit).and_then(|(points, n)| Measured::of_points(points, n))
    } else {
        csv::read(lines, unit).and_then(Measured::of_values)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(name: &str, text: &str, unit: Option<TimeUnit>) -> Result<Spread, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        let read = holds_of_file(&path, unit).map_err(|error| error.to_string());
        read.map_err(|line| {
            line.rsplit_once(&format!("{name}: "))
                .expect("it names the file")
                .1
                .to_owned()
        })
    }

    fn csv(head: &str, line: impl Fn(u32) -> String) -> String {
        let lines = (1..=100).map(line);
        std::iter::once(head.to_owned())
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[track_caller]
    fn median(read: Result<Spread, String>) -> f64 {
        read.expect("it is read").quantile(0.5)
    }

    #[test]
    fn values_with_units_of_all_kinds() {
        let near = |a: f64| assert!((a - 0.050).abs() < 0.001, "{a}");
        near(median(read("a.csv", &csv("hold_ms", |n| n.to_string()), None)));
        near(median(read(
            "a.csv",
            &csv("id;hold_us", |n| format!("{n};{}", n * 1000)),
            None,
        )));
        near(median(read("a.csv", &csv("1ms", |n| format!("{n}ms")), None)));
        near(median(read(
            "a.csv",
            &csv("0.05", |n| format!("{}", f64::from(n) / 1e3)),
            Some(TimeUnit::Seconds),
        )));
        let hgrm = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n 10.0 0.1 10 1.1\n 50.0 0.5 50 2.0\n\
                    100.0 1.0 100\n#[Mean    =        0.5, StdDeviation   =        0.1]\n";
        near(median(read("a.hgrm", hgrm, Some(TimeUnit::Millis))));
        let prometheus = "# TYPE lock_hold histogram\nlock_hold_bucket{pod=\"a\",le=\"0.01\"} 10\nlock_hold_bucket{pod=\"a\",le=\"0.1\"} 90\n\
             lock_hold_bucket{pod=\"a\",le=\"+Inf\"} 90\nlock_hold_bucket{pod=\"b\",le=\"0.01\"} 0 1700000000\n\
             lock_hold_bucket{pod=\"b\",le=\"0.1\"} 0\nlock_hold_bucket{pod=\"b\",le=\"+Inf\"} 0\nlock_hold_sum 3\n";
        near(median(read("metrics", prometheus, None)));
    }

    #[test]
    fn what_is_no_distribution_of_holds_is_refused_with_its_line() {
        let cases = [
            ("", "is empty"),
            ("hold_ms\n12\n0\n", "line 3: 0 is not a time that a section can take"),
            ("hold_ms\n12\n-3\n", "line 3: -3 is not a time"),
            ("hold_ms\n12\nsoon\n", "line 3: \"soon\" is not a duration"),
            ("hold_ms\n12\ninf\n", "line 3: inf is not a time"),
            ("12\n13\n", "line 1: 12 has no unit"),
            ("hold\n12\n", "line 2: 12 has no unit"),
            ("a,b\n1,2\n", "line 1: none of the columns a, b begins with \"hold\""),
            ("1,2\n", "line 1: there are several columns and no names"),
            ("hold_ms\n1\n2\n", "2 values are too few"),
            ("hold_ms\n\"12\n13\n", "line 2: a cell goes on in the next line"),
            ("id;hold_ms\n7;12,5\n", "line 2: \"12,5\" has a decimal comma"),
            (
                "hold_ms\n12,5\n",
                "line 2: has another number of cells (2) than the first line (1)",
            ),
            (
                "id,hold_ms\n7\n",
                "line 2: has another number of cells (1) than the first line (2)",
            ),
            ("hold_s\n40000000\n", "line 2: 40000000 is longer than a year"),
            ("id,hold_ms\n\"a, b\",soon\n", "line 2: \"soon\" is not a duration"),
            ("x_bucket{le=\"1\"} 5\n", "has no bucket with le=\"+Inf\""),
            (
                "x_bucket{le=\"1\"} 5\ny_bucket{le=\"1\"} 5\n",
                "has several histograms (x, y)",
            ),
            (
                "x_bucket{le=\"1\"} 50\nx_bucket{le=\"2\"} 40\nx_bucket{le=\"+Inf\"} 50\n",
                "has counts that fall",
            ),
            ("x_bucket{le=\"+Inf\"} 50\n", "has no bucket with a finite bound"),
            (
                "Value Percentile TotalCount\n1 0.5 3\n",
                "a .hgrm file does not say its unit",
            ),
        ];
        for (text, said) in cases {
            let line = read("holds", text, None).expect_err(text);
            assert!(line.starts_with(said), "{text:?}: {line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
        let line = read("holds", "hold_ms\n12\n", Some(TimeUnit::Seconds)).expect_err("two units");
        assert!(
            line.starts_with("line 1: \"hold_ms\" is in ms by its name, and --unit says s"),
            "{line}"
        );
        let falling = "Value Percentile TotalCount\n5 0.5 50\n4 1 100\n";
        let line = read("holds", falling, Some(TimeUnit::Millis)).expect_err("it falls");
        assert!(line.starts_with("line 3: values and counts must ascend"), "{line}");
    }
}
