//! `lockstorm run`: a scenario without the console.

use std::process::ExitCode;

use lockstorm::report::{FileError, Progress, RecordFile, render};
use lockstorm_data::scenario::warnings;
use lockstorm_lab::check_temp_dir;
use lockstorm_run::{CheckResult, Ended, Record, RunOptions, headless};
use serde::Serialize;

use super::load::{load, room};
use super::print::{nothing_left_but_to_print, print, print_for_people, signalled, signalled_with};
use super::{colour, consent, server};
use crate::cli::{Color, RunArgs};
use crate::failure::{Failure, tell};

/// Runs the scenario. All mistakes in the request are found before anything is started.
pub fn run(args: &RunArgs, color: Color, ascii: bool) -> Result<ExitCode, Failure> {
    let scenario = load(&args.scenario, &args.changes).map_err(Failure::usage)?;
    let tight = room(&scenario).map_err(Failure::usage)?;
    let file = args
        .record
        .as_deref()
        .map(RecordFile::check)
        .transpose()
        .map_err(Failure::usage)?;
    check_temp_dir().map_err(Failure::usage)?;
    let doubts = consent::admit(&scenario, &args.nodes, &args.consent)?;
    let server = server::find(&args.nodes)?;
    for warning in warnings(&scenario).iter().chain(&tight).chain(&doubts) {
        tell(&format!("warning: {warning}"));
    }
    let mut progress = if args.quiet { Progress::quiet() } else { Progress::new() };
    let options = RunOptions {
        server: Some(server),
        ..RunOptions::default()
    };
    let ended = headless(scenario, options, |snapshot| progress.show(snapshot));
    progress.end();
    match ended.map_err(Failure::error)? {
        Ended::Abandoned(stop) => {
            tell("stopped without a record");
            Ok(signalled(stop))
        }
        Ended::Finished(record, stop) => {
            let written = keep(file.as_ref(), &record);
            // What was measured is shown even if the file could not be written.
            let printed = if args.json {
                json(&record).and_then(print)
            } else {
                print_for_people(render(&record, colour::paint(color)), ascii)
            };
            written.map_err(Failure::error)?;
            match stop {
                Some(stop) => Ok(signalled_with(stop, printed)),
                None => printed.map(|()| judge(&record)),
            }
        }
    }
}

/// Writes the record to its file, if there is one. A signal ends us only while we wait for a reader: no file is left half written.
pub fn keep(file: Option<&RecordFile>, record: &impl Serialize) -> Result<(), FileError> {
    let write = || file.map_or(Ok(()), |file| file.write(record));
    if file.is_some_and(RecordFile::is_special) {
        nothing_left_but_to_print();
        return write();
    }
    let written = write();
    nothing_left_but_to_print();
    written
}

/// The exit code for the record: a failed expectation, including one that proven damage broke, outweighs an inconclusive one.
fn judge(record: &Record) -> ExitCode {
    let any = |result| record.expectations.iter().any(|checked| checked.result == result);
    if any(CheckResult::Failed) {
        ExitCode::from(3)
    } else if any(CheckResult::Inconclusive) || !record.inconclusive.is_empty() || !record.partial.is_empty() {
        ExitCode::from(5)
    } else {
        ExitCode::SUCCESS
    }
}

fn json(record: &Record) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(record).map_err(Failure::error)?;
    Ok(text + "\n")
}
