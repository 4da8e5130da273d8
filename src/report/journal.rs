//! The journal beside a record's file: what remains of a run that was killed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lockstorm_base::input;
use lockstorm_base::output::{self, Stream};
use lockstorm_run::{JournalLine, Record, Recovered};
use serde::Deserialize;

use super::reading::{FileError, Format, LARGEST, check_format, no_record, readable};

/// How the first line of a journal begins.
const BEGINNING: &[u8] = b"{\"header\":";

/// A journal that a run writes. It is locked as long as this process lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Where the journal of an earlier run was moved to, which had left no record.
    pub moved: Option<PathBuf>,
}

impl Journal {
    /// Makes the journal of the record at this path. One that an earlier run has left is moved away.
    ///
    /// # Errors
    /// A run that goes on writes the same one, or the system refuses.
    pub(super) fn beside(record: &Path) -> Result<Self, FileError> {
        let path = with_ending(record, ".journal");
        let refused = |error: io::Error| FileError::Unwritable(path.clone(), error.to_string());
        let mut moved = None;
        loop {
            output::foreign_link(&path).map_err(refused)?;
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true);
            let file = options.custom_flags(input::AT_ONCE.bits()).open(&path);
            let file = file.and_then(input::regular).map_err(refused)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let busy = "a run that goes on writes there; name another file".to_owned();
                    return Err(FileError::Unwritable(path, busy));
                }
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
            if file.metadata().map_err(refused)?.len() == 0 {
                return Ok(Self { path, file, moved });
            }
            let mut names = (1..).map(|number| with_ending(&path, &format!(".old{number}")));
            let free = names.find(|name| fs::symlink_metadata(name).is_err());
            let old = free.unwrap_or_else(|| with_ending(&path, ".old"));
            fs::rename(&path, &old).map_err(refused)?;
            moved = Some(old);
        }
    }

    /// Where the run writes it.
    ///
    /// # Errors
    /// The system's error.
    pub fn stream(&self) -> io::Result<Stream> {
        Ok(Stream::unbounded(self.file.try_clone()?))
    }

    /// The run is over. Its journal is removed if there is a record, or if nothing is in it. Returns where it is otherwise.
    pub fn end(self, is_recorded: bool) -> Option<PathBuf> {
        let is_empty = self.file.metadata().is_ok_and(|meta| meta.len() == 0);
        if (is_recorded || is_empty) && fs::remove_file(&self.path).is_ok() {
            return None;
        }
        Some(self.path)
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Reads a journal; `None` if the file is none.
pub(super) fn read(path: &Path, file: &File) -> Result<Option<Record>, FileError> {
    let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
    let mut reader = BufReader::new(file);
    if !reader.fill_buf().map_err(unreadable)?.starts_with(BEGINNING) {
        return Ok(None);
    }
    let (mut read, mut line) = (None::<Recovered>, Vec::new());
    for number in 1_u64.. {
        line.clear();
        let taken = (&mut reader).take(LARGEST << 20).read_until(b'\n', &mut line);
        if taken.map_err(unreadable)? as u64 == LARGEST << 20 {
            let why = format!("line {number} is larger than {LARGEST} MB");
            return Err(FileError::NoRecord(path.to_owned(), why));
        }
        // What was written last when the run was killed is perhaps torn.
        let is_last = reader.fill_buf().map_err(unreadable)?.is_empty();
        if number == 1 {
            check_format::<Header>(path, &line)?;
        }
        let taken = serde_json::from_slice(&line).and_then(|line| match (&mut read, line) {
            (Some(read), line) => read.take(line),
            (read, JournalLine::Header(header)) => {
                *read = Some(Recovered::of(*header));
                Ok(())
            }
            (None, _) => Ok(()),
        });
        match taken {
            Ok(()) if is_last => break,
            Err(_) if is_last && number > 1 => break,
            Ok(()) => {}
            Err(error) => {
                let why = format!("line {number}: {}", readable(&error));
                return Err(FileError::NoRecord(path.to_owned(), why));
            }
        }
    }
    let record = read.map(Recovered::without_end).transpose();
    record.map_err(|error| no_record(path, &error))
}

/// The first line, whichever format it has.
#[derive(Deserialize)]
struct Header {
    header: Format,
}

impl From<Header> for Format {
    fn from(line: Header) -> Self {
        line.header
    }
}
