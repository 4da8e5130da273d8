//! `lockstorm run`: a scenario without the console.

use std::process::ExitCode;

use lockstorm::lab::ServerBinary;
use lockstorm::report::{Progress, RecordFile, render};
use lockstorm::run::{Ended, Held, Record, RunOptions, headless};
use lockstorm::scenario::warnings;

use super::{colour, load, print, print_for_people, room, signalled};
use crate::cli::{Color, RunArgs};
use crate::failure::{Failure, tell};

/// Runs the scenario. All that can be wrong with the request is found before anything is started.
pub fn run(args: &RunArgs, color: Color, ascii: bool) -> Result<ExitCode, Failure> {
    let scenario = load(&args.scenario, &args.changes).map_err(Failure::usage)?;
    let tight = room(&scenario).map_err(Failure::usage)?;
    let file = args
        .record
        .as_deref()
        .map(RecordFile::check)
        .transpose()
        .map_err(Failure::usage)?;
    let server = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
    if !args.quiet {
        for warning in warnings(&scenario).iter().chain(&tight) {
            tell(&format!("warning: {warning}"));
        }
    }
    let mut progress = if args.quiet { Progress::quiet() } else { Progress::new() };
    let options = RunOptions {
        server_bin: Some(server.path),
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
            let written = file.as_ref().map(|file| file.write(&record)).transpose();
            // Even when the file could not be written, what was measured is shown.
            if args.json {
                print(json(&record)?)?;
            } else {
                print_for_people(render(&record, colour::paint(color)), ascii)?;
            }
            written.map_err(Failure::error)?;
            Ok(stop.map_or_else(|| judge(&record), signalled))
        }
    }
}

/// The exit code that the record asks for: an expectation that failed, damage proven against it included, outweighs doubt.
fn judge(record: &Record) -> ExitCode {
    let any = |result| record.expectations.iter().any(|verdict| verdict.result == result);
    if any(Held::No) {
        ExitCode::from(3)
    } else if any(Held::Inconclusive) || !record.inconclusive.is_empty() {
        ExitCode::from(5)
    } else {
        ExitCode::SUCCESS
    }
}

fn json(record: &Record) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(record).map_err(Failure::error)?;
    Ok(text + "\n")
}
