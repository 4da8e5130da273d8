//! The table of docs/figures.md is that of the metrics.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lockstorm_data::metrics::Metric;
use strum::VariantArray;

const HEAD: &str = "| figure | of | means |\n|---|---|---|\n";

/// Its name in files, and its title in tables if that differs.
fn named(metric: Metric) -> String {
    let (name, title) = (metric.name(), metric.title());
    if name.replace('_', " ") == title {
        format!("`{name}`")
    } else {
        format!("`{name}` (\"{title}\")")
    }
}

/// The table: neighbouring metrics with the same description share a line.
fn table() -> String {
    let mut text = HEAD.to_owned();
    for same in Metric::VARIANTS.chunk_by(|one, next| one.row().meaning == next.row().meaning) {
        let names: Vec<String> = same.iter().copied().map(named).collect();
        let row = same[0].row();
        let (names, of) = (names.join(", "), row.group.who_has_it());
        writeln!(text, "| {names} | {of} | {} |", row.meaning).unwrap();
    }
    text
}

#[test]
fn the_docs_have_the_table_of_the_figures() {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/figures.md")).unwrap();
    let table = table();
    assert!(
        docs.contains(&format!("\n\n{table}\n")),
        "the table of docs/figures.md is not that of src/data/metrics/metric.rs, which is:\n\n{table}"
    );
}
