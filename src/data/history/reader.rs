use std::io::{BufRead, Read};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::operation::{Head, Line, Operation};
use crate::model::printable;

/// The longest line, in bytes.
const LONGEST: u64 = 64 << 10;

/// Reads a history line by line: there is never more than one line in memory. A last line that was cut off is left out.
#[derive(Debug)]
pub struct Reader<R> {
    /// The first line.
    pub head: Head,
    lines: Lines<R>,
}

#[derive(Debug)]
struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// Of the line, from 1.
    number: usize,
}

/// Why a history can't be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct HistoryError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub why: String,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// It can't be read, or is not of a history of our format.
    pub fn open(source: R) -> Result<Self, HistoryError> {
        /// The first lines of all formats have this field.
        #[derive(Deserialize)]
        struct Format {
            history: u32,
        }
        let mut lines = Lines {
            source,
            line: Vec::new(),
            number: 0,
        };
        lines.step()?;
        let format: Format = lines.parse()?;
        if format.history != Head::FORMAT {
            let (theirs, ours) = (format.history, Head::FORMAT);
            return Err(lines.wrong(format!(
                "the history has format {theirs}, and this lockstorm reads format {ours}"
            )));
        }
        let head = lines.parse()?;
        Ok(Self { head, lines })
    }

    /// An error in the line that was read last.
    pub fn wrong(&self, why: &str) -> HistoryError {
        self.lines.wrong(why)
    }
}

impl<R: BufRead> Lines<R> {
    fn wrong(&self, why: impl AsRef<str>) -> HistoryError {
        HistoryError {
            line: self.number,
            // It may quote the file, and must stay one readable line.
            why: format!(
                "{}; name a file that `lockstorm run --history` has written",
                printable(why.as_ref())
            ),
        }
    }

    /// Goes to the next line; `false` at the end.
    fn step(&mut self) -> Result<bool, HistoryError> {
        self.line.clear();
        self.number += 1;
        let read = self.source.by_ref().take(LONGEST + 1).read_until(b'\n', &mut self.line);
        match read.map_err(|error| self.wrong(format!("it can't be read: {error}")))? as u64 {
            read if read > LONGEST => Err(self.wrong(format!("it is longer than {} KiB", LONGEST >> 10))),
            read => Ok(read > 0),
        }
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, HistoryError> {
        serde_json::from_slice(&self.line).map_err(|error| self.wrong(error.to_string()))
    }

    fn read(&self) -> Result<Line, HistoryError> {
        #[derive(Deserialize)]
        struct Kind {
            op: Option<IgnoredAny>,
        }
        if self.parse::<Kind>()?.op.is_none() {
            return Ok(Line::Fault(self.parse()?));
        }
        let operation: Operation = self.parse()?;
        match &operation {
            Operation::Acquire(acquire) if acquire.returned < acquire.call => {
                Err(self.wrong("it returns before its call"))
            }
            Operation::Release(release) if release.returned < release.call => {
                Err(self.wrong("it returns before its call"))
            }
            _ => Ok(Line::Operation(operation)),
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.lines.step() {
            Ok(false) => None,
            Ok(true) => match self.lines.read() {
                Err(_) if !self.lines.line.ends_with(b"\n") => None,
                line => Some(line),
            },
            Err(error) => Some(Err(error)),
        }
    }
}
