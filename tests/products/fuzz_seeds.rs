//! The seeds of the fuzz targets are valid, and bugs that fuzzing has found stay fixed.

use std::fs;
use std::path::{Path, PathBuf};

use lockstorm::report::{Paint, RecordFile, render};
use lockstorm_data::scenario::{Overrides, Source, parse};
use lockstorm_run::Record;

fn seeds(target: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/seeds")
        .join(target);
    let seeds: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!seeds.is_empty());
    seeds
}

/// Every lockstorm that has this record format reads this record.
#[test]
fn the_records_that_fuzzing_begins_with_are_records() {
    for seed in seeds("record") {
        let record = RecordFile::read(&seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(!record.arms.is_empty());
    }
}

#[test]
fn the_scenarios_that_fuzzing_begins_with_are_scenarios() {
    for seed in seeds("scenario") {
        let text = fs::read_to_string(&seed).unwrap();
        let (text, flags) = text.split_once("\n----\n").unwrap_or((&text, ""));
        let source = Source {
            name: seed.display().to_string(),
            text: text.to_owned(),
        };
        let overrides = Overrides {
            set: flags.lines().map(str::to_owned).collect(),
            ..Overrides::default()
        };
        let scenario = parse(&source, &overrides).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(!scenario.arms.is_empty());
    }
}

/// The seed record with its text changed.
fn changed(change: impl Fn(String) -> String) -> Record {
    let text = fs::read_to_string(&seeds("record")[0]).unwrap();
    let new = change(text.clone());
    assert_ne!(new, text, "the change found its place");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changed.json");
    fs::write(&path, new).unwrap();
    RecordFile::read(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Found by the target `record`: a number with many digits was read as a different number than was written.
#[test]
fn a_record_that_is_read_and_written_is_the_same() {
    let record = changed(|text| {
        text.replace(
            "\"throughput\":",
            "\"throughput\":0.018062607223372036854775807,\"was\":",
        )
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("again.json");
    RecordFile::check(&path).unwrap().write(&record).unwrap();
    assert_eq!(RecordFile::read(&path).unwrap(), record);
}

/// Found by the target `record`: sums of counts overflowed.
#[test]
fn a_record_of_impossible_figures_can_be_shown() {
    let most = u64::MAX.to_string();
    let with = |key: &str| changed(|text| set(&text, key, &most));
    for key in [
        "acquired",
        "contended",
        "no_quorum",
        "products",
        "stock",
        "orders",
        "attempts",
    ] {
        assert!(!render(&with(key), Paint::Off).is_empty(), "{key}");
    }
    let votes = changed(|text| {
        text.replace(
            "\"votes_at_release\":[",
            &format!("\"votes_at_release\":[{most},{most},{most},"),
        )
    });
    assert!(!render(&votes, Paint::Off).is_empty());
}

/// Found by the target `record`: an excerpt of the file in a message contained a line break, or was as long as the file.
#[test]
fn a_file_that_is_not_a_record_gives_one_short_line() {
    let text = fs::read_to_string(&seeds("record")[0]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.json");
    fs::write(&path, text.replacen("\"round-robin\"", "\"round\\nrobin\"", 1)).unwrap();
    let error = RecordFile::read(&path).unwrap_err().to_string();
    assert!(error.contains("unknown variant"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    fs::write(&path, format!("{{\n\"format\": \"{}\"}}", "w".repeat(10_000))).unwrap();
    let error = RecordFile::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("invalid type: string \"www") && error.ends_with("at line 2 column 10012"),
        "{error}"
    );
    assert!(error.len() < 500, "{error}");
}

/// Found by the target `record`: gaps in seconds that are out of order or far apart were filled.
#[test]
fn no_seconds_are_made_up() {
    for first in [5, 1_000_000_000_000_000] {
        let record = changed(|text| {
            text.replacen(
                "\"points\":[{\"second\":0",
                &format!("\"points\":[{{\"second\":{first}"),
                1,
            )
        });
        let seconds: Vec<i64> = record.arms[0].series.iter().map(|point| point.time).collect();
        assert_eq!(seconds, [1, 2, first]);
    }
}

/// The text, with all numbers of this key replaced.
fn set(text: &str, key: &str, value: &str) -> String {
    let key = format!("\"{key}\":");
    let mut parts = text.split(&key);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        let value = if digits > 0 { value } else { "" };
        new = new + &key + value + &part[digits..];
    }
    new
}
