//! The table of docs/figures.md is that of the metrics.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lockstorm_data::metrics::{Figures, Metric, Outage};
use serde_json::{Value, from_value, to_value};
use strum::VariantArray;

const HEAD: &str = "| figure | of | means | in the record |\n|---|---|---|---|\n";

/// Gives each number below this one a value of its own, and notes its path: `outcomes.acquired`, `outages[].ms`.
fn number(value: &mut Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Number(_) => {
            paths.push(path.to_owned());
            // No two sums of some of them are the same, as far as a figure adds any.
            *value = (1000 + paths.len() * paths.len()).into();
        }
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            number(value, &path, paths);
        }),
        Value::Array(all) => all.iter_mut().for_each(|one| number(one, &format!("{path}[]"), paths)),
        _ => {}
    }
}

/// Where a figure stands in the record, below an arm's `figures`; `None` if it is computed.
fn path_of(metric: Metric) -> Option<String> {
    let figures = Figures {
        outages: vec![Outage::default()],
        stuck: Some(0),
        ..Figures::default()
    };
    let (mut json, mut paths) = (to_value(figures).unwrap(), Vec::new());
    number(&mut json, "", &mut paths);
    let value = metric.of(&from_value(json).unwrap());
    let place = (1..=paths.len()).find(|place| ((1000 + place * place) as f64 - value).abs() < 0.5)?;
    Some(paths.swap_remove(place - 1))
}

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
        let paths: Vec<String> = same
            .iter()
            .copied()
            .filter_map(path_of)
            .map(|path| format!("`{path}`"))
            .collect();
        writeln!(text, "| {names} | {of} | {} | {} |", row.meaning, paths.join(", ")).unwrap();
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
