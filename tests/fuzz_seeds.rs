//! What the fuzz targets begin with is what they are about, and what they have found stays found.

use std::fs;
use std::path::{Path, PathBuf};

use lockstorm::report::RecordFile;
use lockstorm::scenario::{Overrides, Source, parse};

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

/// A record of this format is read by every lockstorm of this format.
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
