//! `lockstorm report`: the page of runs, and what it refuses.

use std::fs;
use std::path::Path;

use lockstorm_kit::program::{printed, refused};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/record/short-run.json");

/// The record with a change, in a directory.
fn changed(directory: &Path, name: &str, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(RECORD).unwrap()).unwrap();
    change(&mut record);
    let path = directory.join(name);
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The page of these records.
fn page(directory: &Path, records: &[&str]) -> String {
    let out = directory.join("page.html");
    let to = ["-o", out.to_str().unwrap()];
    let said = printed(0, &[&["report"], records, &to].concat());
    assert_eq!(said, "");
    fs::read_to_string(out).unwrap()
}

/// The texts of the cells of a page.
fn cells(page: &str) -> Vec<&str> {
    let parts = page.split("<td").skip(1);
    parts
        .map(|part| part.split_once('>').unwrap().1.split('<').next().unwrap())
        .collect()
}

#[test]
fn a_page_opens_offline_and_its_figures_are_those_of_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let page = page(directory.path(), &[RECORD]);
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("src="), "{page}");
    let links = page.matches("http").count();
    assert_eq!(
        links,
        page.matches("http://www.w3.org/2000/svg").count(),
        "nothing from elsewhere"
    );
    // The verdicts as the summary has them.
    let summary = printed(0, &["record", "show", RECORD]);
    let table = summary.lines().skip_while(|line| !line.starts_with("lock  "));
    let rows: Vec<&str> = table.skip(1).take(2).collect();
    for row in rows {
        for cell in row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()) {
            assert!(
                cells(&page).contains(&cell),
                "{cell:?} of {row:?} is not in {:?}",
                cells(&page)
            );
        }
    }
}

#[test]
fn a_run_that_was_interrupted_says_so_before_its_verdicts() {
    let directory = tempfile::tempdir().unwrap();
    let cut = |interrupted: bool| {
        let change = |record: &mut serde_json::Value| record["interrupted"] = interrupted.into();
        let record = changed(directory.path(), "cut.json", change);
        let page = page(directory.path(), &[&record]);
        page.find("1 run was interrupted")
            .map(|at| at < page.find("<table").unwrap())
    };
    assert_eq!((cut(true), cut(false)), (Some(true), None));
}

#[test]
fn runs_of_a_scenario_are_told_together_with_the_range_of_each_figure() {
    let directory = tempfile::tempdir().unwrap();
    let lost = |lost: u64| {
        move |record: &mut serde_json::Value| {
            (record["seed"], record["scenario"]["seed"]) = (lost.into(), lost.into());
            record["arms"][0]["lost_updates_peak"] = lost.into();
            record["arms"][0]["lost_updates"] = lost.into();
        }
    };
    let runs = directory.path().join("runs");
    fs::create_dir(&runs).unwrap();
    for n in [3, 1, 2] {
        changed(&runs, &format!("{n}.json"), lost(n));
    }
    let page = page(directory.path(), &[runs.to_str().unwrap()]);
    for said in [
        "Did not hold: single in 3 of 3",
        "seeds 1 to 3",
        "2 (1 – 3)",
        "0 of 3",
        "75.000 % confidence",
    ] {
        assert!(page.contains(said), "no {said:?} in {page}");
    }
}

#[test]
fn records_that_are_none_or_of_other_scenarios_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let out = at("page.html");
    let other = changed(directory.path(), "other.json", |record| {
        record["scenario"]["duration_us"] = 9_000_000.into();
        let toml = record["scenario_toml"]
            .as_str()
            .unwrap()
            .replace("duration = \"3s\"", "duration = \"9s\"");
        record["scenario_toml"] = toml.into();
    });
    refused(
        2,
        &["report", RECORD, &other, "-o", &out],
        &["of different scenarios", "report each by itself"],
    );
    let before = fs::read(&other).unwrap();
    refused(2, &["report", RECORD, &other, "-o", &other], &["is used twice"]);
    assert_eq!(fs::read(&other).unwrap(), before, "no record is replaced by its page");
    refused(2, &["report", &at("missing.json"), "-o", &out], &["cannot read"]);
    let empty = at("empty");
    fs::create_dir(&empty).unwrap();
    refused(2, &["report", &empty, "-o", &out], &["has no record", ".json"]);
    refused(
        2,
        &["report", RECORD, "-o", &at("no/page.html")],
        &["there is no directory"],
    );
    assert!(!Path::new(&out).exists(), "nothing is written");
}
