//! The save key: it writes the record as JSON, a summary as text and the screen as a picture; during a run there is no record.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::app::Saving;
use crate::report::{self, Paint};
use lockstorm_base::output;
use lockstorm_data::facts::Event;
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{Phase, Record, Snapshot};

/// The columns of the text.
const COLUMNS: usize = 100;

/// Writes the files, with the `picture` of the screen, and returns where they are.
///
/// # Errors
/// The path, and why it can't be written, in one line.
pub(super) fn save(saving: &Saving, picture: &str, dir: &Path) -> Result<String, String> {
    match saving {
        Saving::Record(record) => {
            let stem = format!("{}-{}", record.scenario.name, compact(&record.started));
            let mut json = Vec::new();
            report::write_json(&mut json, record.as_ref()).map_err(|error| error.to_string())?;
            write_new(dir, &stem, "txt", record_text(record).as_bytes())?;
            write_new(dir, &stem, "svg", picture.as_bytes())?;
            Ok(write_new(dir, &stem, "json", &json)? + ", with .txt and .svg")
        }
        Saving::Snapshot(snapshot) => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stem = format!("{}-{}-running", snapshot.scenario.name, compact(&now));
            write_new(dir, &stem, "svg", picture.as_bytes())?;
            Ok(write_new(dir, &stem, "txt", snapshot_text(snapshot).as_bytes())? + ", with .svg")
        }
    }
}

/// A date for a file name.
fn compact(rfc3339: &str) -> String {
    rfc3339.chars().take(19).filter(char::is_ascii_alphanumeric).collect()
}

/// Writes a file that does not exist yet.
fn write_new(dir: &Path, stem: &str, ending: &str, content: &[u8]) -> Result<String, String> {
    let shown = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(dir).map_err(|error| shown(dir, &error))?;
    for number in 1..100 {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let path: PathBuf = dir.join(format!("{stem}{suffix}.{ending}"));
        match output::create(&path, |out| out.write_all(content)) {
            Ok(()) => return Ok(path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(shown(&path, &error)),
        }
    }
    Err(format!(
        "{}: there are a hundred files with this name already",
        dir.join(stem).display()
    ))
}

fn record_text(record: &Record) -> String {
    let mut out = report::brief(record, COLUMNS, Paint::Off) + "\n" + &report::summary(record);
    out.push_str("\nevents\n");
    events(&mut out, &record.events);
    out
}

fn snapshot_text(snapshot: &Snapshot) -> String {
    let mut out = format!(
        "{}\n{}\nevents\n",
        head(&snapshot.scenario, &snapshot.phase, snapshot.elapsed),
        report::so_far(snapshot),
    );
    events(&mut out, &snapshot.events);
    out
}

/// What was saved, and when: the title as in a final summary.
fn head(scenario: &Scenario, phase: &Phase, elapsed: f64) -> String {
    let moment = if *phase == Phase::WarmUp {
        "in the warm-up".to_owned()
    } else {
        format!("after {elapsed:.1} s of a run that goes on")
    };
    let Scenario { name, title, seed, .. } = scenario;
    format!("{name} · {title}\nseed {seed}, {moment}\n")
}

fn events(out: &mut String, events: &[Event]) {
    for event in events {
        // Writing to a string can't fail.
        let _ = writeln!(out, "{:>8.1} s  {}", event.at, event.text());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, builtin, parse};

    #[test]
    fn the_head_says_what_was_saved_and_when() {
        let name = "flash-sale";
        let text = builtin::find(name).expect("it is built in").text.to_owned();
        let source = Source {
            name: name.to_owned(),
            text,
        };
        let mut scenario = parse(&source, &Overrides::default()).expect("a scenario");
        (scenario.title, scenario.seed) = ("A title".to_owned(), 7);
        assert_eq!(
            head(&scenario, &Phase::Running, 4.23),
            "flash-sale · A title\nseed 7, after 4.2 s of a run that goes on\n"
        );
        assert_eq!(
            head(&scenario, &Phase::WarmUp, -2.2),
            "flash-sale · A title\nseed 7, in the warm-up\n"
        );
    }
}
