//! The file of a record: proven writable before the run, replaced whole after it, read again if its format is ours.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::printable;
use crate::run::Record;

/// A place for a record that was found writable. What stands there stays until the new record is complete.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// Whether it is a device or a pipe, to be written to as it is.
    special: bool,
}

/// Why a record cannot be kept, or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path names a directory.
    #[error("cannot write the record to {path}: it is a directory; name a file in it, for example {path}/run.json", path = .0.display())]
    Directory(PathBuf),
    /// The directory of the file does not exist.
    #[error("cannot write the record to {path}: there is no directory {directory}; create it first", path = .path.display(), directory = .directory.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// The system refuses.
    #[error("cannot write the record to {path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file can't be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{path} is not a record of lockstorm: {why}", path = .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It was written by an older or a newer lockstorm.
    #[error(
        "{path} is a record of format {format}, and this lockstorm reads format {}: run its scenario again (it is in the \
         file, as scenario_toml)",
        Record::FORMAT, path = .path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
}

impl RecordFile {
    /// Finds out whether a record can be written to `path`, and changes nothing there.
    ///
    /// # Errors
    /// It is a directory, lies in none, or the system refuses.
    pub fn check(path: &Path) -> Result<Self, FileError> {
        let io = |source| FileError::Io {
            path: path.to_owned(),
            source,
        };
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(FileError::Directory(path.to_owned())),
            // A pipe would block until somebody reads; a device is what it is.
            Ok(meta) if !meta.is_file() => Ok(Self {
                path: path.to_owned(),
                special: true,
            }),
            Ok(_) => {
                OpenOptions::new().append(true).open(path).map_err(io)?;
                // The file itself is replaced, not the link that leads to it.
                let file = Self {
                    path: fs::canonicalize(path).map_err(io)?,
                    special: false,
                };
                file.try_temporary().map_err(io)?;
                Ok(file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = Self {
                    path: path.to_owned(),
                    special: false,
                };
                let directory = file.directory();
                if path.file_name().is_none() || !directory.is_dir() {
                    return Err(FileError::NoDirectory {
                        path: path.to_owned(),
                        directory,
                    });
                }
                file.try_temporary().map_err(io)?;
                Ok(file)
            }
            Err(error) => Err(io(error)),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// The file can't be read, is no record, or has another format than this program writes.
    pub fn read(path: &Path) -> Result<Record, FileError> {
        /// All formats have this field.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let io = |source| FileError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let no_record = |source: serde_json::Error| FileError::NoRecord {
            path: path.to_owned(),
            // It may quote the file, and stays one line.
            why: printable(&source.to_string()),
        };
        let text = fs::read(path).map_err(io)?;
        let Format { format } = serde_json::from_slice(&text).map_err(no_record)?;
        if format != Record::FORMAT {
            return Err(FileError::Format {
                path: path.to_owned(),
                format,
            });
        }
        serde_json::from_slice(&text).map_err(no_record)
    }

    /// Writes the record as JSON beside the path, then puts it in its place.
    ///
    /// # Errors
    /// What the system says, for example a full disk; what stood at the path is then untouched.
    pub fn write(&self, record: &impl Serialize) -> Result<(), FileError> {
        let written = if self.special {
            OpenOptions::new()
                .write(true)
                .open(&self.path)
                .and_then(|file| put(&file, record))
        } else {
            self.replace(record)
        };
        written.map_err(|source| FileError::Io {
            path: self.path.clone(),
            source,
        })
    }

    fn replace(&self, record: &impl Serialize) -> io::Result<()> {
        let temporary = self.temporary();
        let written = File::create(&temporary)
            .and_then(|file| put(&file, record).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            // It may not even exist; the first error is the one that counts.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn try_temporary(&self) -> io::Result<()> {
        let temporary = self.temporary();
        OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        fs::remove_file(&temporary)
    }

    fn directory(&self) -> PathBuf {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    /// Beside the file, so that a rename stays on one file system; with our process id, so that no two runs meet.
    fn temporary(&self) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        self.path.with_file_name(name)
    }
}

fn put(file: &File, record: &impl Serialize) -> io::Result<()> {
    let mut writer = BufWriter::new(file);
    serde_json::to_writer_pretty(&mut writer, record)?;
    writer.write_all(b"\n")?;
    writer.flush()
}
