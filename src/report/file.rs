//! The file of a record: checked before the run, replaced whole after it, and read again if its format is ours.

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

use lockstorm_base::input;
use lockstorm_base::output::{self, READER_TIMEOUT, Stream};
use lockstorm_data::model::printable;
use lockstorm_run::Record;

/// A place for a record that was found to be writable. The present file stays until the new record is complete.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// Whether it is a device or a pipe, which is written to directly.
    special: bool,
}

/// The largest record that is read, in MB.
const LARGEST: u64 = 256;

/// How often a pipe without a reader is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Why a record can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path names a directory.
    #[error("cannot write the record to {path}: it is a directory; name a file in it, for example {path}/run.json", path = .0.display())]
    Directory(PathBuf),
    /// The path ends like the path of a directory.
    #[error("cannot write the record to {path}: that is how a directory is written; name a file in it, for example {path}run.json", path = .0.display())]
    NoName(PathBuf),
    /// No record can be written to it.
    #[error("cannot write the record to {path}: it is {kind}; name a file, or a pipe that somebody reads", path = .path.display())]
    Unfit {
        /// The path.
        path: PathBuf,
        /// What it is.
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
    /// The system's error.
    #[error("cannot write the record to {path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file can't be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a record of lockstorm: {why}", path = .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// An older or a newer lockstorm wrote it.
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
    /// Checks whether a record can be written to `path`, and changes nothing there.
    ///
    /// # Errors
    /// It is a directory, its directory does not exist, or the system refuses.
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
                // The file itself is replaced, and not the link that leads to it.
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
    /// The file can't be read, is not a record, or has another format than this program writes.
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
            // It may quote the file, and must stay one readable line.
            why: shortened(&printable(&source.to_string())),
        };
        let text = input::open(path)
            .and_then(|file| input::whole(&file, LARGEST))
            .map_err(io)?;
        let Format { format } = serde_json::from_slice(&text).map_err(no_record)?;
        if format != Record::FORMAT {
            return Err(FileError::Format {
                path: path.to_owned(),
                format,
            });
        }
        serde_json::from_slice(&text).map_err(no_record)
    }

    /// Whether it is a device or a pipe, whose reader may make us wait.
    #[must_use]
    pub const fn is_special(&self) -> bool {
        self.special
    }

    /// Writes the record as JSON to a temporary file beside the path, and then replaces the file. A pipe is written to
    /// directly, as long as somebody reads from it.
    ///
    /// # Errors
    /// The system's error, for example a full disk; the present file is then unchanged. For a pipe, that nobody has read
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

/// Without `O_NONBLOCK`, opening a pipe that nobody reads would block.
fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new().write(true).custom_flags(flags.bits()).open(path)
}

/// Checks of a device or a pipe before the run.
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
        // Opening and closing it would tell its reader that everything is written.
        return access(path, AccessFlags::W_OK).map_err(|errno| io(errno.into()));
    }
    let mut device = open_at_once(path).map_err(io)?;
    // JSON may begin with a space, and a full device already fails at the first byte.
    let is_null = meta.rdev() == nix::libc::makedev(1, 3);
    if device.is_terminal() || is_null {
        return Ok(());
    }
    device.write_all(b" ").map_err(io)
}

/// `newx/` and `newx/.`: `Path` itself ignores these endings.
fn is_written_as_directory(path: &Path) -> bool {
    let bytes = OsStr::as_bytes(path.as_os_str());
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

fn put(mut out: &mut dyn Write, record: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, record)?;
    out.write_all(b"\n")
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
