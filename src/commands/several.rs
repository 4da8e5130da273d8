//! `lockstorm run --repeat` and `--over`: from a question to a page. Plays the runs, compares their settings and reports on them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lockstorm::report::{RecordFile, Runs, settings_page, settings_text};
use lockstorm_plan::compare::Comparison;

use super::judge::judge;
use super::print::{columns, ended, print_for_people};
use super::report::write;
use super::sweep::{self, Played};
use super::{colour, records};
use crate::cli::{Look, RunArgs, SweepArgs};
use crate::failure::{Failure, tell};

/// Plays every run of which there is no record yet, and tells what all of them show.
pub fn run(args: RunArgs, look: Look) -> Result<ExitCode, Failure> {
    let page = args.out.as_deref().map(RecordFile::check).transpose();
    page.map_err(Failure::usage)?;
    let dir = args.records.unwrap_or_else(|| default_dir(&args.scenario));
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
    let settings = settings(&played, &dir).map_err(Failure::error)?;
    let comparisons = compared(&settings);
    if let (Some(page), false) = (&args.out, settings.is_empty()) {
        write(page, &settings_page(&settings, &comparisons).map_err(Failure::error)?)?;
    }
    let text = settings_text(&settings, &comparisons, args.verbose, columns(), colour::paint(look));
    let text = text.map_err(Failure::error)?;
    let printed = print_for_people(text, look);
    if !args.quiet {
        let page = args
            .out
            .map_or_else(String::new, |page| format!(", the page is {}", page.display()));
        tell(&format!("the records are in {}{page}", dir.display()));
    }
    ended(
        played.stop,
        printed.map(|_| judge(settings.iter().flat_map(|(_, runs)| runs.all()))),
    )
}

fn default_dir(scenario: &str) -> PathBuf {
    let name = Path::new(scenario).file_stem();
    let name = name.map_or(scenario.into(), |stem| stem.to_string_lossy());
    PathBuf::from(format!("{name}.runs"))
}

/// The settings that were played, each with its name and its runs.
fn settings(played: &Played, dir: &Path) -> Result<Vec<(String, Runs)>, String> {
    let mut all = Vec::new();
    for cell in &played.cells {
        let of_cell = played.outcomes.iter().filter(|outcome| outcome.cell == *cell);
        let files: Vec<PathBuf> = of_cell.map(|outcome| dir.join(cell.file_name(outcome.seed))).collect();
        if !files.is_empty() {
            all.push((cell.to_string(), Runs::of(records::read(&files)?)?));
        }
    }
    Ok(all)
}

/// Each setting, held against the first one.
fn compared(settings: &[(String, Runs)]) -> Vec<Comparison> {
    let Some(((first, base), others)) = settings.split_first() else {
        return Vec::new();
    };
    let against = |(name, runs): &(String, Runs)| Comparison::of_groups([first, name], [base.all(), runs.all()]);
    others.iter().map(against).collect()
}
