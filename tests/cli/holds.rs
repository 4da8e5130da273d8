//! What `lockstorm plan --hold-from` reads of files that other tools write: every file of `holds/` is read right or refused, and what was
//! read is said.

use std::collections::BTreeSet;
use std::fs;

use lockstorm_kit::program::{refused, says, told};
use serde_json::Value;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/holds");

/// What must come of a file.
enum Of {
    /// So many values, with bounds of their median and p99 in seconds, and what is said of them.
    Values(u64, [f64; 2], [f64; 2], &'static [&'static str]),
    /// One line with these parts.
    Refused(&'static [&'static str]),
}

use Of::{Refused, Values};

/// No bounds.
const ANY: [f64; 2] = [0.0, 1e9];
/// Of 600 holds around two seconds.
const TWO_SECONDS: [f64; 2] = [1.9565, 1.9575];

/// Files with options, and what must come of them.
const CASES: [(&str, &str, Of); 33] = [
    // Exemplars are no counts, whatever their labels.
    (
        "exemplars.prom",
        "",
        Values(
            10_000,
            [0.0, 0.1],
            [0.5, 1.0],
            &["histogram lock_hold_seconds, 1 series, in s by its name, 10,000 values"],
        ),
    ),
    (
        "exemplar_on_inf.prom",
        "",
        Values(
            500,
            [0.25, 1.0],
            [1.0, 5.0],
            &[
                "in ms by its name",
                "1 of them lies above the last bound, 5 s, and how far is unknown",
            ],
        ),
    ),
    // Labels in any order, also such as end in "le".
    ("label_role.prom", "", Values(200_000, ANY, [1.0, 60.0], &["2 series"])),
    ("label_table_only.prom", "", Values(10_000, [0.0, 0.1], ANY, &[])),
    // Series that lack bounds of others.
    (
        "bounds_differ.prom",
        "",
        Values(
            2000,
            [0.1, 1.0],
            [1.0, 5.0],
            &["2 series", "the series have different bounds"],
        ),
    ),
    // Units, and two that do not agree.
    ("bytes.prom", "", Refused(&["http_response", "bytes", "no time"])),
    (
        "bytes.prom",
        "--unit ms",
        Refused(&["http_response", "bytes", "no time"]),
    ),
    (
        "minutes.prom",
        "",
        Values(10_000, [600.0, 1200.0], ANY, &["in min by its name"]),
    ),
    (
        "minutes.prom",
        "--unit s",
        Refused(&["in min by its name, and --unit says s"]),
    ),
    (
        "minutes.csv",
        "",
        Values(400, [600.0, 1500.0], ANY, &["column hold_min, in min by its name"]),
    ),
    (
        "minutes.csv",
        "--unit s",
        Refused(&["in min by its name, and --unit says s"]),
    ),
    (
        "nanoseconds.csv",
        "",
        Values(600, TWO_SECONDS, ANY, &["column hold_ns, in ns by its name"]),
    ),
    (
        "nanoseconds.csv",
        "--unit ns",
        Values(600, TWO_SECONDS, ANY, &["in ns by its name"]),
    ),
    // Which of several.
    (
        "two_histograms.prom",
        "",
        Refused(&["lock_hold_seconds, lock_wait_seconds", "--metric NAME"]),
    ),
    (
        "two_histograms.prom",
        "--metric lock_hold_seconds",
        Values(10_000, [0.0, 0.1], ANY, &["lock_hold_seconds"]),
    ),
    (
        "two_histograms.prom",
        "--metric lock_wait_seconds_bucket",
        Values(1000, [0.0, 0.01], ANY, &["lock_wait_seconds"]),
    ),
    (
        "two_histograms.prom",
        "--metric holds",
        Refused(&["no histogram \"holds\"; it has lock_hold_seconds, "]),
    ),
    (
        "two_histograms.prom",
        "--column le",
        Refused(&["no columns", "--metric"]),
    ),
    (
        "holder_then_hold.csv",
        "",
        Values(
            600,
            TWO_SECONDS,
            ANY,
            &["column hold_ms, in ms by its name, 600 values"],
        ),
    ),
    (
        "two_durations.csv",
        "",
        Refused(&["duration_of_queue_ms, hold_ms", "--column NAME"]),
    ),
    (
        "two_durations.csv",
        "--column hold_ms",
        Values(600, TWO_SECONDS, ANY, &["column hold_ms"]),
    ),
    (
        "two_durations.csv",
        "--column wait_ms",
        Refused(&["no column \"wait_ms\"; there are duration_of_queue_ms, hold_ms"]),
    ),
    (
        "two_durations.csv",
        "--metric hold_ms",
        Refused(&["no metrics", "--column"]),
    ),
    // Spreadsheets' CSV, and numbers that can be read in two ways.
    ("excel.csv", "", Values(600, TWO_SECONDS, ANY, &["column hold_ms"])),
    (
        "thousands.csv",
        "",
        Refused(&["line 2: \"2,159\"", "thousands or decimals", "without commas"]),
    ),
    // Whole milliseconds: each counts as up to one longer.
    (
        "zeros_ms.csv",
        "",
        Values(400, [0.012, 0.022], [0.025, 0.035], &["rounded to 1 ms"]),
    ),
    // Percentiles of HdrHistogram, with lines that are indented.
    (
        "indented.hgrm",
        "--unit ms",
        Values(
            1000,
            [0.0035, 0.0045],
            [0.019, 0.022],
            &["percentiles, in ms by --unit, 1,000 values"],
        ),
    ),
    ("indented.hgrm", "", Refused(&["--unit"])),
    // What other tools write is not taken for something else.
    ("jmeter.jtl", "", Refused(&["timeStamp, elapsed", "--column NAME"])),
    (
        "jmeter.jtl",
        "--column elapsed --unit ms",
        Values(
            150,
            [0.2, 0.21],
            ANY,
            &["150 values", "50 rows of failed samples left out"],
        ),
    ),
    (
        "k6.csv",
        "--column metric_value --unit ms",
        Refused(&["k6", "all metrics in one column", "awk"]),
    ),
    (
        "locust_stats.csv",
        "--column 50% --unit ms",
        Refused(&["Locust", "percentiles"]),
    ),
    ("postgres.log", "", Refused(&["PostgreSQL", "sed -n"])),
];

#[test]
fn every_file_is_read_right_or_refused_and_what_was_read_is_said() {
    let json = ["k6.ndjson", "otel.json"].map(|file| (file, "", Refused(&["is JSON", "one on each line"])));
    let all = || CASES.iter().chain(&json);
    let on_disk = fs::read_dir(FILES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = all().map(|case| case.0.to_owned()).collect();
    assert_eq!(on_disk.collect::<BTreeSet<_>>(), files, "each file has its row");
    for (file, options, of) in all() {
        let path = format!("{FILES}/{file}");
        let options = options.split_whitespace();
        let plan: Vec<&str> = ["plan", "--hold-from", &path].into_iter().chain(options).collect();
        match of {
            Refused(parts) => refused(2, &plan, &[&[*file][..], parts].concat()),
            Values(count, median, p99, said) => {
                let common = ["--renew", "ttl/3", "--pause", "none", "--risk", "1/s"];
                let plan = [&plan[..], &common].concat();
                let (code, text, error) = told(&plan);
                assert!(matches!(code, Some(0 | 3)), "{plan:?}: {error}");
                says(&text, said);
                let (_, text, _) = told(&[&plan[..], &["--json"]].concat());
                let question = &serde_json::from_str::<Value>(&text).unwrap()["question"];
                let measured = &question["hold"]["measured"];
                assert_eq!(
                    [&measured["count"], &question["holds_read"]["values"]],
                    [count, count],
                    "{plan:?}: {question:#}"
                );
                for (name, [least, most]) in [("p50_us", median), ("p99_us", p99)] {
                    let seconds = measured[name].as_f64().unwrap() / 1e6;
                    assert!((*least..=*most).contains(&seconds), "{plan:?}: {name} {seconds}");
                }
            }
        }
    }
}

/// With --csv standard output is the table alone.
#[test]
fn beside_a_table_what_was_read_is_told_on_standard_error() {
    let path = format!("{FILES}/exemplar_on_inf.prom");
    let (_, table, error) = told(&[
        "plan",
        "--hold-from",
        &path,
        "--renew",
        "ttl/3",
        "--pause",
        "none",
        "--csv",
    ]);
    says(
        &error,
        &["exemplar_on_inf.prom: histogram lock_hold_milliseconds, 1 series, in ms by its name, 500 values; 1 of them"],
    );
    assert!(!table.contains("histogram"), "{table}");
}

#[test]
fn no_duration_may_be_longer_than_a_year() {
    let long = "longer than a year";
    refused(2, &["plan", "--hold", "367d"], &[long]);
    refused(
        2,
        &["plan", "--hold", "20ms", "--takeover", "367d"],
        &["--takeover", long],
    );
    refused(
        2,
        &["plan", "--hold", "20ms", "--pause", "1/h,367d"],
        &["--pause", long],
    );
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("days.csv", "hold_days\n367\n"),
        (
            "days.prom",
            "hold_days_bucket{le=\"367\"} 5\nhold_days_bucket{le=\"+Inf\"} 5\n",
        ),
        ("seconds.hgrm", "Value Percentile TotalCount\n40000000 1 5\n"),
    ] {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        let unit: &[&str] = if name.ends_with("hgrm") { &["--unit", "s"] } else { &[] };
        refused(
            2,
            &[&["plan", "--hold-from", path.to_str().unwrap()], unit].concat(),
            &[name, long],
        );
    }
}
