use std::path::Path;

use super::holds_read::{HoldsOptions, HoldsPart, HoldsRead};
use super::lines::Lines;
use super::unit::UnitBy;
use super::{csv, hgrm, prometheus};
use crate::error::PlanError;
use crate::measured::Measured;
use crate::spread::Spread;
use lockstorm_base::input;

/// The largest file that is read, in MB.
const LARGEST: u64 = 512;
/// So many of the first lines show of which format a file is.
const SHOWING: usize = 20;

/// Holds from a file: CSV, the percentiles of an HdrHistogram (.hgrm), or the text of a Prometheus histogram; and what of it was read.
///
/// # Errors
/// The file can't be read, is none of these, or does not say which numbers are the holds and what their unit is; the error names the
/// line.
pub fn holds_of_file(path: &Path, options: &HoldsOptions) -> Result<(Spread, HoldsRead), PlanError> {
    let wrong = |why: String| PlanError::new(format!("{}: {why}", path.display()));
    let opened = input::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (size, file) = opened.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if size > LARGEST << 20 {
        return Err(wrong(format!(
            "is larger than {LARGEST} MB; make a histogram of it, or take every tenth line"
        )));
    }
    let (measured, mut read) = measured(&mut Lines::of(&file, size), options).map_err(wrong)?;
    read.file = path.display().to_string();
    Ok((Spread::Measured(measured), read))
}

fn measured(lines: &mut Lines<'_>, options: &HoldsOptions) -> Result<(Measured, HoldsRead), String> {
    let (measured, part, unit, above, failed) = if hgrm::is_one(lines)? {
        if options.column.is_some() || options.metric.is_some() {
            return Err("is a .hgrm file, which has one distribution; leave --column and --metric out".to_owned());
        }
        let (points, n) = hgrm::read(lines, options.unit)?;
        let unit = options.unit.map(|unit| (unit, UnitBy::Option));
        (
            Measured::of_points(points, n)?,
            HoldsPart::Percentiles,
            unit,
            None,
            None,
        )
    } else if prometheus::is_one(lines)? {
        let histogram = prometheus::read(lines, options)?;
        let last = histogram.points.last().map(|last| last.0);
        let above = last
            .filter(|_| histogram.above > 0)
            .map(|bound| (histogram.above, bound));
        let measured = Measured::of_points(histogram.points, histogram.n)?;
        (measured, histogram.part, Some(histogram.unit), above, None)
    } else if let Some(why) = of_another_format(lines)? {
        return Err(why.to_owned());
    } else {
        let values = csv::read(lines, options)?;
        let measured = Measured::of_values(values.seconds, values.cut_to).map_err(|why| match values.failed {
            Some(some @ 1..) => format!("{why}; {some} rows of failed samples were left out"),
            _ => why,
        })?;
        (
            measured,
            HoldsPart::Column(values.column),
            values.unit,
            None,
            values.failed,
        )
    };
    let read = HoldsRead {
        file: String::new(),
        part,
        unit,
        values: measured.count(),
        above,
        failed,
    };
    Ok((measured, read))
}

/// What to do with a text that is no table.
fn of_another_format(lines: &mut Lines<'_>) -> Result<Option<&'static str>, String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()?.filter(|(number, _)| *number <= SHOWING) {
        if line.trim_start().starts_with(['{', '[']) {
            return Ok(Some(
                "is JSON; write the durations of one metric as text, one on each line, for example with jq -r, or export a histogram as \
                 Prometheus text",
            ));
        }
        if line.contains("LOG:  duration: ") {
            return Ok(Some(
                "is a log of PostgreSQL; take the durations out of it: sed -n 's/.*LOG:  duration: \\([0-9.]* ms\\).*/\\1/p' FILE > \
                 holds.csv",
            ));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::read::unit::TimeUnit;

    fn read(name: &str, text: &str, unit: Option<TimeUnit>) -> Result<Spread, String> {
        let options = HoldsOptions {
            unit,
            ..HoldsOptions::default()
        };
        read_with(name, text, &options)
    }

    fn read_with(name: &str, text: &str, options: &HoldsOptions) -> Result<Spread, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        let read = holds_of_file(&path, options).map_err(|error| error.to_string());
        read.map(|(spread, _)| spread).map_err(|line| {
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
        let prometheus = "# TYPE lock_hold histogram\n# UNIT lock_hold seconds\nlock_hold_bucket{pod=\"a\",le=\"0.01\"} 10\nlock_hold_bucket{pod=\"a\",le=\"0.1\"} 90\n\
             lock_hold_bucket{pod=\"a\",le=\"+Inf\"} 90\nlock_hold_bucket{pod=\"b\",le=\"0.01\"} 0 1700000000\n\
             lock_hold_bucket{pod=\"b\",le=\"0.1\"} 0\nlock_hold_bucket{pod=\"b\",le=\"+Inf\"} 0\nlock_hold_sum 3\n";
        near(median(read("metrics", prometheus, None)));
    }

    #[test]
    fn a_column_of_figures_or_limits_is_read_only_if_it_is_chosen() {
        for name in [
            "hold_ms_mean",
            "holdMsAvg",
            "hold_p99_ms",
            "hold 99th (ms)",
            "min_hold_ms",
            "hold_ms_max",
            "hold_stddev_ms",
            "hold_timeout_ms",
            "lock_ttl_ms",
            "total_ms",
        ] {
            let text = csv(name, |n| n.to_string());
            let line = read("a.csv", &text, None).expect_err(name);
            assert!(
                line.starts_with("line 1: ")
                    && line.contains("in its name, so its rows are no single holds; say with --column NAME"),
                "{line}"
            );
            let chosen = HoldsOptions {
                column: Some(name.to_owned()),
                ..HoldsOptions::default()
            };
            median(read_with("a.csv", &text, &chosen));
        }
        for name in ["hold_count", "hold_min", "hold_ms", "duration_minutes", "wait_ms"] {
            let read = read("a.csv", &csv(name, |n| n.to_string()), None);
            assert_eq!(read.is_err(), name == "hold_count", "{name}");
        }
    }

    /// Texts, and how the line begins that refuses them.
    const REFUSED: &[(&str, &str)] = &[
        ("", "is empty"),
        ("hold_ms\n12\n0\n", "2 values are too few"),
        ("hold_ms\n12.5\n0\n", "line 3: 0 is not a time that a section can take"),
        (
            "hold_ms\n12\n0.0\n",
            "line 3: 0.0 is not a time that a section can take",
        ),
        ("hold_ms\n12\n-3\n", "line 3: -3 is not a time"),
        ("hold_ms\n12\nsoon\n", "line 3: \"soon\" is not a duration"),
        ("hold_ms\n12\ninf\n", "line 3: inf is not a time"),
        ("12\n13\n", "line 1: 12 has no unit"),
        ("hold\n12\n", "line 2: 12 has no unit"),
        (
            "a,b\n1,2\n",
            "line 1: none of the columns a, b has \"hold\" or \"duration\"",
        ),
        (
            "hold_bytes\n12\n",
            "line 1: \"hold_bytes\" is in bytes by its name, which is no time",
        ),
        (
            "hold_ms\n12s\n",
            "line 2: \"12s\" has a unit of its own, and its column is in ms",
        ),
        ("1,2\n", "line 1: there are several columns and no names"),
        ("hold_ms\n1\n2\n", "2 values are too few"),
        (
            "hold_ms,Success\n1,true\n2,False\n0,no\n",
            "1 values are too few to see how they vary; measure at least 30, and better 10,000; 2 rows of failed",
        ),
        (
            "id,hold_start_ms\n7,12\n",
            "line 1: \"hold_start_ms\" has \"start\" in its name",
        ),
        (
            "le,hold_ms_bucket\n7,12\n",
            "line 1: \"hold_ms_bucket\" has \"bucket\" in its name",
        ),
        (
            "hold_ms,Count\n7,12\n",
            "line 1: there is a column \"Count\", so a row may stand for many holds",
        ),
        (
            "run,hold_ms\n1,12\nAverage,12\n",
            "line 3: \"Average\" says that the row has a figure of other rows",
        ),
        (
            "hold_ms\n12\nTotal\n12\n",
            "line 3: \"Total\" says that the row has a figure of other rows",
        ),
        (
            "Timestamp,User Count,50%,Total Request Count\n1,2,3,4\n",
            "line 1: is Locust's history",
        ),
        (
            "Value,Percentile,TotalCount\n1,0.5,3\n",
            "line 1: is a table of percentiles",
        ),
        ("x_s_bucket{le=\"1\"} 50.5\n", "line 1: a bucket's count is not whole"),
        (
            "x_s_bucket{le=\"1\"} 9\nx_s_bucket{le=\"+Inf\"} 9\nx_s_bucket{pod=\"a\",le=\"1\"} 9\nx_s_bucket{le=\"+Inf\",pod=\"a\"} 9\n",
            "has a series of x_s with the labels {} that may be the sum of others",
        ),
        (
            "id,max_hold_ms\n7,12\n",
            "line 1: \"max_hold_ms\" has \"max\" in its name",
        ),
        ("hold_ms\n\"12\n13\n", "line 2: a cell goes on in the next line"),
        ("id;hold_ms\n7;12,5\n", "line 2: \"12,5\" has a comma"),
        ("id;hold_ms\n7;1,234,567\n", "line 2: \"1,234,567\" has a comma"),
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
        ("x_s_bucket{le=\"1\"} 5\n", "has a series of x_s without le=\"+Inf\""),
        (
            "x_bucket{le=\"1\"} 5\ny_bucket{le=\"1\"} 5\n",
            "has several histograms (x, y); say which one has the holds with --metric",
        ),
        ("x_bucket{le=\"1\"} 5\n", "\"x\" does not say its unit; say --unit s"),
        (
            "x_s_bucket{le=\"1\"} 50\nx_s_bucket{le=\"2\"} 40\nx_s_bucket{le=\"+Inf\"} 50\n",
            "has counts that fall",
        ),
        ("x_s_bucket{le=\"+Inf\"} 50\n", "has no bucket with a finite bound"),
        (
            "x_s_bucket{le=\"1e9\"} 50\n",
            "line 1: le=\"1000000000\" is longer than a year",
        ),
        (
            "x_s_bucket{le=\"1\"} 50\nx_s_bucket{le=\"1.0\"} 50\n",
            "line 2: le=\"1\" comes a second time",
        ),
        ("x_s_bucket{le=\"1\"} 50\nup = 1\n", "line 2: is not a sample"),
        ("# TYPE x_s summary\nx_s{quantile=\"0.5\"} 3\n", "has no histogram"),
        (
            "Value Percentile TotalCount\n1 0.5 3\n",
            "a .hgrm file does not say its unit",
        ),
    ];

    #[test]
    fn what_is_no_distribution_of_holds_is_refused_with_its_line() {
        for (text, said) in REFUSED {
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
