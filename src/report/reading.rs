//! What is read as a record, and why something is none.

use std::io;
use std::path::{Path, PathBuf};

use lockstorm_data::model::printable;
use lockstorm_run::Record;
use serde::Deserialize;

/// The largest record, and the largest line of a journal, that is read, in MB.
pub(super) const LARGEST: u64 = 256;

/// Why a record can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No record can be written to this path.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Unwritable(PathBuf, String),
    /// The file can't be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// The file is something else.
    #[error("{path} is not a record of lockstorm: {1}", path = .0.display())]
    NoRecord(PathBuf, String),
    /// An older or a newer lockstorm wrote it, in this format.
    #[error(
        "{path} is a record of format {1}, and this lockstorm reads format {ours}: run its scenario again (it is in the \
         file, as scenario_toml)",
        path = .0.display(), ours = Record::FORMAT
    )]
    Format(PathBuf, u32),
}

/// The version of a record's format. All formats have this field.
#[derive(Deserialize)]
pub(super) struct Format {
    format: u32,
}

/// Whether the record has the format that we read. `Beginning` is what its version stands in.
pub(super) fn check_format<'a, Beginning: Deserialize<'a> + Into<Format>>(
    path: &Path,
    text: &'a [u8],
) -> Result<(), FileError> {
    let beginning: Beginning = serde_json::from_slice(text).map_err(|error| no_record(path, &error))?;
    match beginning.into() {
        Format { format: Record::FORMAT } => Ok(()),
        Format { format } => Err(FileError::Format(path.to_owned(), format)),
    }
}

/// Why a file is no record.
pub(super) fn no_record(path: &Path, error: &serde_json::Error) -> FileError {
    FileError::NoRecord(path.to_owned(), readable(error))
}

/// The error may quote the file, and must stay one readable line.
pub(super) fn readable(error: &serde_json::Error) -> String {
    shortened(&printable(&error.to_string()))
}

/// A message without its middle if it is long: what is wrong is at its beginning, and where is at its end.
fn shortened(message: &str) -> String {
    const BEGINNING: usize = 200;
    const END: usize = 60;
    let length = message.chars().count();
    if length <= BEGINNING + END {
        return message.to_owned();
    }
    let beginning: String = message.chars().take(BEGINNING).collect();
    let end: String = message.chars().skip(length - END).collect();
    format!("{beginning} … {end}")
}
