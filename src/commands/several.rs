//! `lockstorm run --repeat` and `--over`: from a question to a page. Plays the runs, compares their settings and reports on them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lockstorm::report::{RecordFile, Settings};
use lockstorm_plan::sweep::OF_THE_FILE;

use super::judge::judge;
use super::print::{columns, ended, print_for_people};
use super::report::write_report;
use super::{colour, records, sweep};
use crate::cli::{Look, RunArgs, SweepArgs};
use crate::failure::{Failure, tell};

/// Plays every run of which there is no record yet, and tells what all of them show.
pub fn run(args: RunArgs, look: Look) -> Result<ExitCode, Failure> {
    let page = args.out.as_deref().map(RecordFile::check).transpose();
    page.map_err(Failure::usage)?;
    let dir = args
        .records
        .unwrap_or_else(|| sweep::named_after(&args.scenario, "runs"));
    if let Some(axis) = args.over.iter().find(|axis| !is_a_setting(&axis.key)) {
        return Err(Failure::usage(format!(
            "--over {}: that makes another scenario, whose runs are not compared; `lockstorm sweep` plays one with any key",
            axis.key
        )));
    }
    let is_there = |page: &&Path| {
        let place = page.parent().filter(|place| !place.as_os_str().is_empty());
        let place = place.unwrap_or(Path::new(".")).canonicalize();
        place.is_ok_and(|place| dir.canonicalize().is_ok_and(|dir| dir == place))
    };
    if let Some(page) = args.out.as_deref().filter(is_there) {
        let why = format!("{}: lies among the records; name another file", page.display());
        return Err(Failure::usage(why));
    }
    let played = sweep::play(&SweepArgs {
        scenario: args.scenario,
        over: args.over,
        find_max: None,
        condition: None,
        repeat: args.repeat.unwrap_or(1),
        out: Some(dir.join("results.jsonl")),
        records: Some(dir.clone()),
        play: args.play,
        json: false,
        quiet: args.quiet,
    })?;
    // In the order in which the settings were named.
    let mut files: Vec<PathBuf> = Vec::new();
    for cell in &played.cells {
        let of_cell = played.outcomes.iter().filter(|outcome| outcome.cell == *cell);
        let of_cell = of_cell.map(|outcome| dir.join(cell.file_name(outcome.seed)));
        let new: Vec<PathBuf> = of_cell.filter(|file| !files.contains(file)).collect();
        files.extend(new);
    }
    if files.is_empty() {
        return ended(played.stop, Ok(ExitCode::SUCCESS));
    }
    let records = records::read(&files).map_err(|error| {
        Failure::error(format!(
            "{error}; remove {} to play all runs anew, or name another --records",
            dir.display()
        ))
    })?;
    let settings = Settings::of(records).map_err(Failure::error)?;
    if let Some(page) = &args.out {
        write_report(&settings, page)?;
    }
    let text = settings.text(args.verbose, columns(), colour::paint(look));
    let printed = print_for_people(text.map_err(Failure::error)?, look);
    if !args.quiet {
        let page = args
            .out
            .map_or_else(String::new, |page| format!(", the report is {}", page.display()));
        tell(&format!("the records are in {}{page}", dir.display()));
    }
    ended(played.stop, printed.map(|_| judge(settings.all()).into()))
}

/// Whether a key changes the locks or the load, so that runs with other values can be compared.
fn is_a_setting(key: &str) -> bool {
    key.starts_with("arm.")
        || key.starts_with("swarm.")
        || key == "lab.persistence"
        || !key.contains('.') && !OF_THE_FILE.contains(&key)
}
