//! `lockstorm run`: a scenario without the console.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lockstorm::report::{Journal, Progress, RecordFile, Settings};
use lockstorm_base::output::{Stream, begin};
use lockstorm_data::scenario::warnings;
use lockstorm_lab::check_temp_dir;
use lockstorm_run::{Ended, RunOptions, headless};

use super::judge::judge;
use super::load::{load, room};
use super::print::{ended, keep, print_result, signalled, summary};
use super::report::write_report;
use super::{consent, server, several};
use crate::cli::{Look, RunArgs};
use crate::failure::{Failure, tell, warn};

/// Runs the scenario, once or several times. All mistakes in the request are found before anything is started.
pub fn run(mut args: RunArgs, look: Look) -> Result<ExitCode, Failure> {
    let turns = args
        .interleave
        .map(|turns| format!("swarm.turns={}", humantime::format_duration(turns)));
    args.play.changes.set.extend(turns);
    let written = [(&args.history, None), (&args.out, args.history.as_ref())];
    for (path, other) in written {
        if let Some(path) = path.as_deref().filter(|path| is_used(path, other, &args)) {
            let why = format!("{}: is used twice; name another file", path.display());
            return Err(Failure::usage(why));
        }
    }
    if args.repeat.is_some() || !args.over.is_empty() {
        several::run(args, look)
    } else {
        once(&args, look)
    }
}

fn once(args: &RunArgs, look: Look) -> Result<ExitCode, Failure> {
    let page = args.out.as_deref().map(RecordFile::check).transpose();
    page.map_err(Failure::usage)?;
    let scenario = load(&args.scenario, &args.play.changes).map_err(Failure::usage)?;
    let tight = room(&scenario).map_err(Failure::usage)?;
    let file = args.record.as_deref().map(RecordFile::check).transpose();
    let file = file.map_err(Failure::usage)?;
    check_temp_dir().map_err(Failure::usage)?;
    let doubts = consent::admit(&scenario, &args.play, consent::can_ask())?;
    let server = server::find(&args.play.nodes)?;
    let history = args.history.as_deref().map(begin_history).transpose()?;
    warn(warnings(&scenario).iter().chain(&tight).chain(&doubts));
    let journal = file.as_ref().map(RecordFile::journal).transpose();
    let mut journal = journal.map_err(Failure::usage)?.flatten();
    let mut options = RunOptions {
        history: history.clone(),
        etcd: args.play.nodes.etcd_bin.clone(),
        ..server::options(&server)
    };
    if let Some(journal) = &journal {
        options.journal = Some(journal.stream().map_err(Failure::error)?);
        let told = |old: &Path| {
            format!(
                "an earlier run was killed before its record was written; its journal is now {}",
                old.display()
            )
        };
        warn(journal.moved.as_deref().map(told));
    }
    let mut progress = Progress::new(args.quiet);
    let played = headless(scenario, options, |snapshot| progress.show(snapshot));
    progress.end();
    let left = |journal: Option<Journal>, is_recorded| {
        if let Some(path) = journal.and_then(|journal| journal.end(is_recorded)) {
            tell(&format!("what was measured until then is in {}", path.display()));
        }
    };
    let ended_so = played.map_err(|error| {
        left(journal.take(), false);
        Failure::error(error)
    })?;
    match ended_so {
        Ended::Abandoned(stop) => {
            tell("stopped without a record");
            left(journal, false);
            Ok(signalled(stop))
        }
        Ended::Finished(record, stop) => {
            let written = keep(file.as_ref(), &record);
            left(journal, written.is_ok());
            // What was measured is shown even if the file could not be written.
            let printed = print_result(args.json, &record, |paint| summary(&record, args.verbose, paint), look);
            written.map_err(Failure::error)?;
            let code = judge([&*record]).into();
            if let Some(page) = &args.out {
                let run = Settings::of(vec![("this run".to_owned(), *record)]).map_err(Failure::error)?;
                write_report(&run, page)?;
            }
            if let Some(Err(error)) = history.map(|history| history.settle()) {
                return Err(Failure::error(format!("the history is cut off: {error}")));
            }
            ended(stop, printed.map(|_| code))
        }
    }
}

/// Whether the file of the history, or of the report, is one that the run reads or writes for something else.
fn is_used(file: &Path, other: Option<&PathBuf>, args: &RunArgs) -> bool {
    let place = |path: &Path| {
        let inside = |directory: &Path| Some(directory.canonicalize().ok()?.join(path.file_name()?));
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        path.canonicalize()
            .ok()
            .or_else(|| inside(directory.unwrap_or(Path::new("."))))
    };
    let journal = |record: &PathBuf| record.with_added_extension("journal");
    // It may be the name of a built-in one.
    let scenario = Some(PathBuf::from(&args.scenario)).filter(|path| path.exists());
    let record = args.record.iter();
    let others = record.clone().map(journal).chain(record.cloned()).chain(scenario);
    let others = others.chain(other.cloned());
    place(file).is_some_and(|file| others.filter_map(|other| place(&other)).any(|other| other == file))
}

/// Begins the file of a history. Nobody waits for its disk while the run goes on.
fn begin_history(path: &Path) -> Result<Stream, Failure> {
    let cannot = |error| Failure::usage(format!("cannot write the history to {}: {error}", path.display()));
    Ok(Stream::unbounded(begin(path).map_err(cannot)?))
}
