//! The file of a record: checked before the run, replaced whole after it, and read again if its format is ours.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};
use serde::Serialize;

use lockstorm_base::input;
use lockstorm_base::output::{self, READER_TIMEOUT, Stream};
use lockstorm_run::Record;

use super::journal::{self, Journal};
use super::reading::{FileError, Format, LARGEST, check_format, no_record};

/// A place for a record that was found to be writable. The present file stays until the new record is complete.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// Whether it is a device or a pipe, which is written to directly.
    special: bool,
}

/// How often a pipe without a reader is checked.
const LOOK: Duration = Duration::from_millis(50);

impl RecordFile {
    /// Checks whether a record can be written to `path`, and changes nothing there.
    ///
    /// # Errors
    /// It is a directory, its directory does not exist, or the system refuses.
    pub fn check(path: &Path) -> Result<Self, FileError> {
        let refused = |why: String| FileError::Unwritable(path.to_owned(), why);
        let io = |error: io::Error| refused(error.to_string());
        let shown = path.display();
        if is_written_as_directory(path) && !path.is_dir() {
            return Err(refused(format!(
                "that is how a directory is written; name a file in it, for example {shown}run.json"
            )));
        }
        output::foreign_link(path).map_err(io)?;
        let mut file = Self {
            path: path.to_owned(),
            special: false,
        };
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                return Err(refused(format!(
                    "it is a directory; name a file in it, for example {shown}/run.json"
                )));
            }
            Ok(meta) if meta.is_file() => {
                OpenOptions::new().append(true).open(path).map_err(io)?;
                // The file itself is replaced, and not the link that leads to it.
                file.path = fs::canonicalize(path).map_err(io)?;
            }
            Ok(meta) => {
                check_special(path, &meta).map_err(refused)?;
                file.special = true;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                };
                if path.file_name().is_none() || !directory.is_dir() {
                    return Err(refused(format!(
                        "there is no directory {}; create it first",
                        directory.display()
                    )));
                }
            }
            Err(error) => return Err(io(error)),
        }
        output::try_replace(&file.path).map_err(io)?;
        Ok(file)
    }

    /// Reads a record, or the journal of a run that was killed.
    ///
    /// # Errors
    /// The file can't be read, is not a record, or has another format than this program writes.
    pub fn read(path: &Path) -> Result<Record, FileError> {
        let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
        let file = input::open(path).map_err(unreadable)?;
        if let Some(record) = journal::read(path, &file)? {
            return sound(path, record);
        }
        let rewound = (&file).rewind();
        let text = rewound
            .and_then(|()| input::whole(&file, LARGEST))
            .map_err(unreadable)?;
        check_format::<Format>(path, &text)?;
        let record = serde_json::from_slice(&text).map_err(|error| no_record(path, &error))?;
        sound(path, record)
    }

    /// Makes the journal of a run beside the file; `None` if that is a device or a pipe.
    ///
    /// # Errors
    /// A run that goes on writes the same one, or the system refuses.
    pub fn journal(&self) -> Result<Option<Journal>, FileError> {
        (!self.special).then(|| Journal::beside(&self.path)).transpose()
    }

    /// Whether it is a device or a pipe, whose reader may make us wait.
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
            output::replace(&self.path, |out| write_json(out, record))
        };
        written.map_err(|error| FileError::Unwritable(self.path.clone(), error.to_string()))
    }

    fn pour(&self, record: &impl Serialize) -> io::Result<()> {
        let mut json = Vec::new();
        write_json(&mut json, record)?;
        let stream = Stream::unbounded(open_special(&self.path)?);
        stream.write(json);
        stream.settle()
    }
}

/// Refuses a record that no run can have left: it would be shown wrongly, or take all memory.
fn sound(path: &Path, record: Record) -> Result<Record, FileError> {
    /// The most hosts of a lab.
    const HOSTS: usize = 9;
    let refused = |why: &str| Err(FileError::NoRecord(path.to_owned(), why.to_owned()));
    let arms = &record.scenario.arms;
    let names = || record.arms.iter().map(|arm| arm.name.as_str());
    if !names().eq(arms.iter().map(|arm| arm.name.as_str())) {
        return refused("its arms are not those of its scenario");
    }
    if names().any(|name| name.contains(char::is_control)) {
        return refused("the name of an arm has characters that a terminal would obey");
    }
    if record.scenario.lab.hosts > HOSTS || arms.iter().any(|arm| arm.hosts.is_some_and(|hosts| hosts > HOSTS)) {
        return refused("it has more hosts than a lab can have");
    }
    // Its conclusions follow from its facts, whoever wrote it.
    Ok(record.concluded())
}

/// Writes a value as one line of JSON.
///
/// # Errors
/// Those of the output.
pub fn write_json(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")
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

/// Checks of a device or a pipe before the run. Returns why it can't be written.
fn check_special(path: &Path, meta: &Metadata) -> Result<(), String> {
    let (kind, io) = (meta.file_type(), |error: io::Error| error.to_string());
    let unfit = |kind| Err(format!("it is {kind}; name a file, or a pipe that somebody reads"));
    if kind.is_socket() {
        return unfit("a socket");
    }
    if kind.is_block_device() {
        return unfit("a disk");
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
