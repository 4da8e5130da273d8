use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::outcome::Outcome;
use lockstorm_base::{input, output};

/// The file of a sweep: a line that says which sweep it is, and a line for each result, in JSON. Results are appended as they
/// come, so an interrupted sweep goes on where it was. It is locked while a sweep uses it, and the lock ends with the process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// The open file, which is locked.
    file: File,
    /// What it holds.
    pub outcomes: Vec<Outcome>,
}

/// Which sweep a journal is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    /// Of the format of these lines.
    format: u32,
    /// The scenario with its changes, as TOML, without what the cells change.
    scenario: String,
}

const FORMAT: u32 = 2;

/// The largest journal that is read, in MB.
const LARGEST: u64 = 256;

/// Why a journal can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system's error.
    #[error("cannot use {path} for the results: {source}; name another file with --out", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another sweep is writing its results to {path}, so nothing was started: wait for its end, or name another file with --out", path = .0.display())]
    Busy(PathBuf),
    /// It is not at its path any more.
    #[error("{path} was removed or replaced while this sweep wrote its results to it, so the last one is in no file of this name; put it back, or give the same command again", path = .0.display())]
    Gone(PathBuf),
    /// It is of another scenario, or another program.
    #[error("{path} holds something other than results of this scenario with these changes; name another place for the results, or remove it", path = .0.display())]
    Other(PathBuf),
    /// A line can't be read.
    #[error("{path}: line {line} is not a result: {why}; name another file with --out, or remove the line", path = .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
}

impl Journal {
    /// Opens the journal of this scenario, or makes one. A last line that was cut off in the middle is removed.
    ///
    /// # Errors
    /// The file can't be written, another sweep writes it, or it is something else.
    pub fn open(path: &Path, scenario: String) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io {
            path: path.to_owned(),
            source,
        };
        let file = locked(path)?;
        let text = input::whole(&file, LARGEST).map_err(io)?;
        let text = String::from_utf8(text).map_err(|_| JournalError::Other(path.to_owned()))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let head = Head {
            format: FORMAT,
            scenario,
        };
        let mut lines = text[..whole].lines().enumerate();
        let is_ours = |line: &str| serde_json::from_str::<Head>(line).is_ok_and(|there| there == head);
        let is_new = match lines.next() {
            Some((_, line)) if is_ours(line) => false,
            // A first line that was cut off is the beginning of ours.
            None if text.is_empty() || text.starts_with("{\"format\":") => true,
            _ => return Err(JournalError::Other(path.to_owned())),
        };
        let read = |(index, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| JournalError::Line {
                path: path.to_owned(),
                line: index + 1,
                why: error.to_string(),
            })
        };
        let outcomes = lines.map(read).collect::<Result<Vec<Outcome>, _>>()?;
        file.set_len(whole as u64).map_err(io)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            outcomes,
        };
        if is_new {
            journal.append(&head)?;
        }
        Ok(journal)
    }

    /// Whether it has the result of this cell with this seed.
    pub fn has(&self, cell: &Cell, seed: u64) -> bool {
        self.outcomes
            .iter()
            .any(|outcome| outcome.cell == *cell && outcome.seed == seed)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// The system's error; the result is then not in the file, and the journal can't be used any more.
    pub fn keep(&mut self, outcome: Outcome) -> Result<(), JournalError> {
        self.append(&outcome)?;
        self.outcomes.push(outcome);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        if !leads_to(&self.path, &self.file) {
            return Err(JournalError::Gone(self.path.clone()));
        }
        let written = serde_json::to_string(line)
            .map_err(io::Error::from)
            .and_then(|line| self.file.write_all((line + "\n").as_bytes()))
            .and_then(|()| self.file.sync_data());
        written.map_err(|source| JournalError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

/// Opens the file, or makes it, and locks it.
fn locked(path: &Path) -> Result<File, JournalError> {
    let io = |source| JournalError::Io {
        path: path.to_owned(),
        source,
    };
    output::foreign_link(path).map_err(io)?;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .append(true)
        .create(true)
        .custom_flags(input::AT_ONCE.bits());
    loop {
        let file = options.open(path).and_then(input::regular).map_err(io)?;
        match file.try_lock() {
            // It may have been removed or replaced before it was locked.
            Ok(()) if leads_to(path, &file) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
    }
}

/// Whether this path leads to this very file.
fn leads_to(path: &Path, file: &File) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let (there, here) = (fs::metadata(path).map(identity), file.metadata().map(identity));
    there.is_ok_and(|there| here.is_ok_and(|here| there == here))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(ttl: &str, seed: u64) -> Outcome {
        Outcome {
            cell: Cell(vec![("ttl".to_owned(), ttl.to_owned())]),
            seed,
            elapsed: 1.0,
            inconclusive: Vec::new(),
            failed: Vec::new(),
            arms: Vec::new(),
        }
    }

    #[test]
    fn a_sweep_goes_on_where_it_was_even_after_half_a_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sweep.jsonl");
        let open = || Journal::open(&path, "title = \"x\"".to_owned());
        let mut journal = open().expect("a new one");
        journal.keep(outcome("1s", 1)).expect("kept");
        journal.keep(outcome("2s", 1)).expect("kept");
        drop(journal);
        let text = fs::read_to_string(&path).expect("written");
        fs::write(&path, &text[..text.len() - 5]).expect("cut");
        let mut journal = open().expect("the same sweep");
        assert!(journal.has(&outcome("1s", 1).cell, 1) && !journal.has(&outcome("2s", 1).cell, 1));
        assert!(!journal.has(&outcome("1s", 1).cell, 2));
        journal.keep(outcome("2s", 1)).expect("kept");
        assert!(matches!(open(), Err(JournalError::Busy(_))));
        drop(journal);
        assert_eq!(open().expect("again").outcomes.len(), 2);
        assert_eq!(fs::read_to_string(&path).expect("written"), text);
    }

    #[test]
    fn what_is_not_its_own_stays_untouched() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notes");
        for text in ["dear diary\n", "dear diary", "{\"format\":2,\"scenario\":\"other\"}\n"] {
            fs::write(&path, text).expect("written");
            assert!(
                matches!(Journal::open(&path, "mine".to_owned()), Err(JournalError::Other(_))),
                "{text}"
            );
            assert_eq!(fs::read_to_string(&path).expect("there"), text);
        }
        let text = "{\"format\":2,\"scenario\":\"mine\"}\nnonsense\n";
        fs::write(&path, text).expect("written");
        let line = Journal::open(&path, "mine".to_owned())
            .expect_err("a bad line")
            .to_string();
        assert!(
            line.contains("line 2 is not a result") && line.lines().count() == 1,
            "{line}"
        );
        assert!(matches!(
            Journal::open(dir.path(), "mine".to_owned()),
            Err(JournalError::Io { .. })
        ));
    }
}
