//! `lockstorm record history`: a history in the format of another checker.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::{Checker, export};
use lockstorm_base::{input, output};
use lockstorm_data::history::Reader;

use super::super::print::print;
use crate::failure::Failure;

/// Opens a history.
pub fn open(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    let file = input::open(path).map_err(|error| unreadable(path, error))?;
    Reader::open(BufReader::new(file)).map_err(|error| unreadable(path, error))
}

/// What is wrong with a history.
pub fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot read {}: {error}", path.display()))
}

/// Writes the files of a checker into a directory, and prints their names.
pub fn convert(path: &Path, to: Checker, directory: &Path) -> Result<ExitCode, Failure> {
    let files = export(open(path)?, to).map_err(|error| unreadable(path, error))?;
    if files.is_empty() {
        return Err(unreadable(
            path,
            "it has nothing that this checker judges: no lock was used, or nothing was sold but paid",
        ));
    }
    let cannot = |path: &Path, error| Failure::error(format!("cannot write {}: {error}", path.display()));
    fs::create_dir_all(directory).map_err(|error| cannot(directory, error))?;
    let mut names = String::new();
    for (name, text) in files {
        let path = directory.join(name);
        output::replace(&path, |file| file.write_all(text.as_bytes())).map_err(|error| cannot(&path, error))?;
        names += &format!("{}\n", path.display());
    }
    print(names)
}
