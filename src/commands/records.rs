//! The records that a command names: files, directories of them, and patterns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lockstorm::report::RecordFile;
use lockstorm_run::Record;

/// Reads them, each with the path of its file.
///
/// # Errors
/// A path leads nowhere, a file is no record, or two are of the same run.
pub fn read(paths: &[PathBuf]) -> Result<Vec<(String, Record)>, String> {
    let mut records = Vec::new();
    for path in files(paths)? {
        let record = RecordFile::read(&path).map_err(|error| error.to_string())?;
        records.push((path.display().to_string(), record));
    }
    distinct(records.iter())?;
    Ok(records)
}

/// Refuses two files of one run, which would count twice: what began at the same instant on the same machine is the same.
pub fn distinct<'a>(runs: impl Iterator<Item = &'a (String, Record)>) -> Result<(), String> {
    let mut seen: BTreeMap<_, &String> = BTreeMap::new();
    for (name, run) in runs {
        let zero = run
            .second_zero
            .as_ref()
            .map(|zero| (zero.wall.as_str(), zero.monotonic_us));
        if let Some(before) = seen.insert((zero, run.started.as_str()), name) {
            return Err(format!("{before} and {name} are the same run: name each once"));
        }
    }
    Ok(())
}

/// The files of records: those that are named, those that fit a pattern (`ttl8_*.json`, if there is no file of that name), and of
/// directories the records in them, by name.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(inside(path)?);
        } else if !path.exists() && path.to_string_lossy().contains(['*', '?', '[']) {
            all.extend(fitting(path)?);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn inside(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error| format!("cannot read {}: {error}", dir.display());
    let is_record = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let mut inside = Vec::new();
    for entry in fs::read_dir(dir).map_err(cannot)? {
        inside.push(entry.map_err(cannot)?.path());
    }
    inside.retain(|path| is_record(path));
    if inside.is_empty() {
        return Err(format!("{} has no record: their names end in .json", dir.display()));
    }
    inside.sort();
    Ok(inside)
}

fn fitting(pattern: &Path) -> Result<Vec<PathBuf>, String> {
    let named = pattern.to_string_lossy();
    let found = glob::glob(&named).map_err(|error| format!("{named} is no pattern: {error}"))?;
    let found: Result<Vec<PathBuf>, _> = found.collect();
    match found {
        Ok(found) if found.is_empty() => Err(format!("no file fits {named}")),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("cannot read {}: {}", error.path().display(), error.error())),
    }
}
