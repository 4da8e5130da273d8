//! The file of a record: proven writable before the run, replaced whole after it, read again if its format is ours.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use crate::model::printable;
use crate::output::{self, READER_TIMEOUT, Stream};
use crate::run::Record;

/// A place for a record that was found writable. What stands there stays until the new record is complete.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// Whether it is a device or a pipe, to be written to as it is.
    special: bool,
}

/// How often a pipe is looked at that nobody reads from yet.
const LOOK: Duration = Duration::from_millis(50);

/// Why a record cannot be kept, or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path names a directory.
    #[error("cannot write the record to {path}: it is a directory; name a file in it, for example {path}/run.json", path = .0.display())]
    Directory(PathBuf),
    /// The path ends as paths of directories do.
    #[error("cannot write the record to {path}: that is how a directory is written; name a file in it, for example {path}run.json", path = .0.display())]
    NoName(PathBuf),
    /// It is something that no record can be written to.
    #[error("cannot write the record to {path}: it is {kind}; name a file, or a pipe that somebody reads", path = .path.display())]
    Unfit {
        /// The path.
        path: PathBuf,
        /// What is there.
        kind: &'static str,
    },
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
        if is_written_as_directory(path) && !path.is_dir() {
            return Err(FileError::NoName(path.to_owned()));
        }
        output::foreign_link(path).map_err(io)?;
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(FileError::Directory(path.to_owned())),
            Ok(meta) if meta.is_file() => {
                OpenOptions::new().append(true).open(path).map_err(io)?;
                // The file itself is replaced, not the link that leads to it.
                let path = fs::canonicalize(path).map_err(io)?;
                output::try_replace(&path).map_err(io)?;
                Ok(Self { path, special: false })
            }
            Ok(meta) => {
                check_special(path, &meta)?;
                Ok(Self {
                    path: path.to_owned(),
                    special: true,
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
                    _ => PathBuf::from("."),
                };
                if path.file_name().is_none() || !directory.is_dir() {
                    return Err(FileError::NoDirectory {
                        path: path.to_owned(),
                        directory,
                    });
                }
                output::try_replace(path).map_err(io)?;
                Ok(Self {
                    path: path.to_owned(),
                    special: false,
                })
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
            // It may quote the file, and stays one line that can be read.
            why: shortened(&printable(&source.to_string())),
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

    /// Whether it is a device or a pipe, whose reader may keep us waiting.
    #[must_use]
    pub const fn is_special(&self) -> bool {
        self.special
    }

    /// Writes the record as JSON beside the path, then puts it in its place. A pipe is written to as it is, for as long as
    /// somebody reads from it.
    ///
    /// # Errors
    /// What the system says, for example a full disk; what stood at the path is then untouched. Of a pipe, that nobody has read
    /// from it for ten seconds.
    pub fn write(&self, record: &impl Serialize) -> Result<(), FileError> {
        let written = if self.special {
            self.pour(record)
        } else {
            output::replace(&self.path, |out| put(out, record))
        };
        written.map_err(|source| FileError::Io {
            path: self.path.clone(),
            source,
        })
    }

    fn pour(&self, record: &impl Serialize) -> io::Result<()> {
        let mut json = Vec::new();
        put(&mut json, record)?;
        let stream = Stream::unbounded(open_special(&self.path)?);
        stream.write(json);
        stream.settle()
    }
}

/// Opens a device or a pipe; a pipe once somebody reads from it.
fn open_special(path: &Path) -> io::Result<File> {
    let end = Instant::now() + READER_TIMEOUT;
    loop {
        match open_at_once(path) {
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => {
                if Instant::now() >= end {
                    let text = format!("nobody has opened it to read for {} s", READER_TIMEOUT.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                thread::sleep(LOOK);
            }
            opened => return opened,
        }
    }
}

/// A pipe that nobody reads would keep whoever opens it waiting.
fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new().write(true).custom_flags(flags.bits()).open(path)
}

/// What can be known of a device or a pipe before the run.
fn check_special(path: &Path, meta: &Metadata) -> Result<(), FileError> {
    let (kind, io) = (meta.file_type(), |source| FileError::Io {
        path: path.to_owned(),
        source,
    });
    let unfit = |kind| FileError::Unfit {
        path: path.to_owned(),
        kind,
    };
    if kind.is_socket() {
        return Err(unfit("a socket"));
    }
    if kind.is_block_device() {
        return Err(unfit("a disk"));
    }
    if kind.is_fifo() {
        // To open and close it would tell its reader that all is written.
        return access(path, AccessFlags::W_OK).map_err(|errno| io(errno.into()));
    }
    let mut device = open_at_once(path).map_err(io)?;
    // JSON may begin with a space, and a device that is full says so to the first byte.
    let is_null = meta.rdev() == nix::libc::makedev(1, 3);
    if device.is_terminal() || is_null {
        return Ok(());
    }
    device.write_all(b" ").map_err(io)
}

/// `newx/` and `newx/.`: `Path` itself hides what they end in.
fn is_written_as_directory(path: &Path) -> bool {
    let bytes = OsStr::as_bytes(path.as_os_str());
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

fn put(mut out: &mut dyn Write, record: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, record)?;
    out.write_all(b"\n")
}

/// A message without its middle if that is long: what is wrong stands at its beginning, and where at its end.
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
