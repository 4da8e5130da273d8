//! The save key: the record as JSON with a summary as text beside it, or during a run a summary alone.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::app::Saving;
use super::text;
use crate::metrics::{Figures, Snapshot, units};
use crate::model::Event;
use crate::output;
use crate::run::{Held, Record, sentence};

/// Writes it and says where.
///
/// # Errors
/// The path and why it can't be written, in one line.
pub(super) fn save(saving: &Saving, dir: &Path) -> Result<String, String> {
    match saving {
        Saving::Record(record) => {
            let stem = format!("{}-{}", record.scenario.name, compact(&record.started));
            let json = serde_json::to_string_pretty(record.as_ref()).map_err(|error| error.to_string())?;
            write_new(dir, &stem, "txt", &record_text(record))?;
            write_new(dir, &stem, "json", &json)
        }
        Saving::Snapshot(snapshot) => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stem = format!("{}-{}-running", snapshot.scenario.name, compact(&now));
            write_new(dir, &stem, "txt", &snapshot_text(snapshot))
        }
    }
}

/// A date as a part of a file name.
fn compact(rfc3339: &str) -> String {
    rfc3339.chars().take(19).filter(char::is_ascii_alphanumeric).collect()
}

/// Writes a file that was not there before.
fn write_new(dir: &Path, stem: &str, ending: &str, content: &str) -> Result<String, String> {
    let shown = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(dir).map_err(|error| shown(dir, &error))?;
    for number in 1..100 {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let path: PathBuf = dir.join(format!("{stem}{suffix}.{ending}"));
        match output::create(&path, |out| out.write_all(content.as_bytes())) {
            Ok(()) => return Ok(path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(shown(&path, &error)),
        }
    }
    Err(format!(
        "{}: a hundred files of this name exist already",
        dir.join(stem).display()
    ))
}

fn record_text(record: &Record) -> String {
    let scenario = &record.scenario;
    let mut out = format!("{}: {}\n", scenario.name, scenario.title);
    let ended = if record.interrupted { "interrupted" } else { "finished" };
    // Writing to a string can't fail.
    let _ = writeln!(
        out,
        "{}, seed {}, {ended} after {:.1} s\n",
        record.started, record.seed, record.elapsed
    );
    for (arm, spec) in record.arms.iter().zip(&scenario.arms) {
        let _ = writeln!(
            out,
            "{}",
            sentence(
                spec,
                &arm.figures,
                &scenario.workload,
                arm.sold_out_all,
                arm.doubt.is_some()
            )
        );
    }
    table(
        &mut out,
        record.arms.iter().map(|arm| (arm.name.as_str(), &arm.figures)),
    );
    for verdict in &record.expectations {
        let mark = match verdict.result {
            Held::Yes => "✔",
            Held::No => "✖",
            Held::Inconclusive => "?",
        };
        let _ = writeln!(out, "{mark} {}: {}", verdict.expectation, verdict.text);
    }
    for warning in &record.warnings {
        let _ = writeln!(out, "! {warning}");
    }
    events(&mut out, &record.events);
    out
}

fn snapshot_text(snapshot: &Snapshot) -> String {
    let scenario = &snapshot.scenario;
    let mut out = format!("{}: {}\n", scenario.name, scenario.title);
    let _ = writeln!(
        out,
        "seed {}, after {:.1} s of a run that goes on\n",
        scenario.seed, snapshot.elapsed
    );
    for (arm, spec) in snapshot.arms.iter().zip(&scenario.arms) {
        let _ = writeln!(
            out,
            "{}",
            sentence(
                spec,
                &arm.figures,
                &scenario.workload,
                arm.sold_out,
                arm.doubt.is_some()
            )
        );
    }
    table(
        &mut out,
        snapshot.arms.iter().map(|arm| (arm.name.as_str(), &arm.figures)),
    );
    events(&mut out, &snapshot.events);
    out
}

fn table<'a>(out: &mut String, arms: impl Iterator<Item = (&'a str, &'a Figures)>) {
    let titles = [
        "p50",
        "p99",
        "done/s",
        "acquired",
        "contended",
        "no quorum",
        "orders",
        "oversold",
        "db hits",
    ];
    let _ = write!(out, "\n{}", text::left("arm", 20));
    for title in titles {
        let _ = write!(out, "{}", text::right(title, 11));
    }
    out.push('\n');
    for (name, figures) in arms {
        let at_least = if figures.incomplete { "≥ " } else { "" };
        let cells = [
            text::micros(figures.acquire_us.p50),
            text::micros(figures.acquire_us.p99),
            text::decimal(figures.throughput),
            units::count(figures.outcomes.acquired),
            units::count(figures.outcomes.contended),
            units::count(figures.outcomes.no_quorum),
            format!("{at_least}{}", units::count(figures.orders)),
            format!("{at_least}{}", units::count(figures.oversold)),
            units::count(figures.db_hits),
        ];
        let _ = write!(out, "{}", text::left(name, 20));
        for cell in cells {
            let _ = write!(out, "{}", text::right(&cell, 11));
        }
        out.push('\n');
    }
    out.push('\n');
}

fn events(out: &mut String, events: &[Event]) {
    for event in events {
        let _ = writeln!(out, "{:>8.1} s  {}", event.at, event.text);
    }
}
