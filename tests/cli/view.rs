//! `lockstorm view` where it can't show anything: without a terminal, and of files that are no records.

use std::fs;

use lockstorm_kit::program::refused;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/record/short-run.json");

#[test]
fn without_a_terminal_it_says_what_shows_a_record_instead() {
    let instead = [
        "a record is played in a terminal",
        &format!("`lockstorm record show {RECORD}`"),
        "`lockstorm report ",
    ];
    refused(2, &["view", RECORD], &instead);
    refused(2, &["view", "demo"], &["in a terminal", "`lockstorm run failover`"]);
}

#[test]
fn a_file_that_is_no_record_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.json");
    fs::write(&path, "{}").unwrap();
    let path = path.to_str().unwrap();
    refused(2, &["view", path], &[path]);
    refused(2, &["view", "/nowhere/x.json"], &["/nowhere/x.json"]);
    refused(2, &["view"], &["RECORD"]);
}
