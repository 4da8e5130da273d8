//! `lockstorm report`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lockstorm::report::{RecordFile, Runs, runs_page};
use lockstorm_base::output;

use crate::cli::ReportArgs;
use crate::failure::Failure;

/// Writes the page.
pub fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    RecordFile::check(&args.out).map_err(Failure::usage)?;
    let mut records = Vec::new();
    let place = args.out.canonicalize();
    for path in files(&args.records).map_err(Failure::usage)? {
        if place
            .as_ref()
            .is_ok_and(|place| path.canonicalize().is_ok_and(|path| path == *place))
        {
            let why = format!("{}: is used twice; name another file for the page", path.display());
            return Err(Failure::usage(why));
        }
        let record = RecordFile::read(&path).map_err(Failure::usage)?;
        records.push((path.display().to_string(), record));
    }
    let runs = Runs::of(records).map_err(Failure::usage)?;
    let page = runs_page(&runs).map_err(Failure::usage)?;
    output::replace(&args.out, |file| file.write_all(page.as_bytes()))
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", args.out.display())))?;
    Ok(ExitCode::SUCCESS)
}

/// The files of records: those that are named, and of directories the records in them, by name.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let cannot = |error| format!("cannot read {}: {error}", path.display());
        let is_record = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(cannot)? {
            inside.push(entry.map_err(cannot)?.path());
        }
        inside.retain(|path| is_record(path));
        if inside.is_empty() {
            return Err(format!("{} has no record: their names end in .json", path.display()));
        }
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}
