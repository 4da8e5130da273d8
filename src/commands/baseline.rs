//! A baseline: copies of records that later runs are compared with.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::Runs;
use lockstorm_data::metrics::units::counted;
use lockstorm_plan::compare::fewest;
use lockstorm_run::Record;

use crate::failure::{Failure, tell};

/// Keeps these records, which must be whole runs of one scenario and one setting, in a new directory; all or none.
pub fn keep(runs: Vec<(String, Record)>, dir: &Path) -> Result<ExitCode, Failure> {
    let files: Vec<String> = runs.iter().map(|(file, _)| file.clone()).collect();
    let runs = Runs::of(runs).map_err(Failure::usage)?;
    let unfit = runs
        .all()
        .iter()
        .filter(|run| run.interrupted || run.arms.iter().any(|arm| arm.doubt.is_some()));
    let unfit = unfit.count();
    if unfit > 0 {
        return Err(Failure::usage(format!(
            "{} interrupted or in doubt, which nothing can be held against: name the others",
            counted(unfit as u64, "of these runs was", "of these runs were")
        )));
    }
    let cannot = |error: io::Error| Failure::error(format!("cannot keep the baseline in {}: {error}", dir.display()));
    copy(&files, dir).map_err(cannot)?;
    tell(&format!(
        "{} kept as the baseline in {}: compare new runs with it, which ends with exit code 4 if something is worse",
        counted(files.len() as u64, "record was", "records were"),
        dir.display()
    ));
    let least = fewest(1, false);
    if (files.len() as u64) < least {
        tell(&format!(
            "a baseline of fewer than {least} runs can't show anything; eight are enough for most"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies the files into a directory beside the place, which then gets its name.
fn copy(files: &[String], dir: &Path) -> io::Result<()> {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    let copies = tempfile::Builder::new()
        .prefix(".baseline-")
        .tempdir_in(parent.unwrap_or(Path::new(".")))?;
    for file in files {
        let path = Path::new(file);
        let place = copies.path().join(path.file_name().unwrap_or(path.as_os_str()));
        if place.exists() {
            return Err(io::Error::other(format!(
                "two records are called {}: copy them under other names first",
                path.display()
            )));
        }
        fs::copy(path, &place)?;
        fs::File::open(&place)?.sync_all()?;
    }
    fs::rename(copies.path(), dir)?;
    // It is not there any more under its first name.
    let _ = copies.keep();
    Ok(())
}
