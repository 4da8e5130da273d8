use std::io::{BufRead, Read};

use serde::de::DeserializeOwned;

use crate::model::printable;

/// What may stand before the first line.
const BOM: &[u8] = "\u{feff}".as_bytes();
/// The longest line, in bytes.
const LONGEST: u64 = 64 << 10;

/// The lines of a file of JSON objects; there is never more than one in memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// Of the line, from 1.
    number: usize,
    /// What to do about a mistake.
    cure: &'static str,
}

/// Why a history can't be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct HistoryError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub why: String,
    /// Whether it is the last line, and has no end: whoever wrote it was cut off.
    pub is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub fn of(source: R, cure: &'static str) -> Self {
        Self {
            source,
            line: Vec::new(),
            number: 0,
            cure,
        }
    }

    /// An error in the line that was read last.
    pub fn wrong(&self, why: impl AsRef<str>) -> HistoryError {
        HistoryError {
            line: self.number,
            // It may quote the file, and must stay one readable line.
            why: format!("{}; {}", printable(why.as_ref()), self.cure),
            is_cut: false,
        }
    }

    /// Goes to the next line that is not blank; `false` at the end.
    pub fn step(&mut self) -> Result<bool, HistoryError> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.source.by_ref().take(LONGEST + 1).read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| self.wrong(format!("it can't be read: {error}")))?;
            if read as u64 > LONGEST {
                return Err(self.wrong(format!("it is longer than {} KiB", LONGEST >> 10)));
            }
            // Some programs begin a text in UTF-8 with it.
            if self.number == 1 && self.line.starts_with(BOM) {
                self.line.drain(..BOM.len());
            }
            if read == 0 || !self.line.trim_ascii().is_empty() {
                return Ok(read > 0);
            }
        }
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, HistoryError> {
        serde_json::from_slice(self.object()?).map_err(|error| self.not_json(&error))
    }

    /// Hands over the name of each field that is not read.
    pub fn parse_noting<T: DeserializeOwned>(&self, mut note: impl FnMut(&str)) -> Result<T, HistoryError> {
        let wrong = |error: serde_json::Error| self.not_json(&error);
        let mut line = serde_json::Deserializer::from_slice(self.object()?);
        let read = serde_ignored::deserialize(&mut line, |field| note(&field.to_string())).map_err(wrong)?;
        line.end().map_err(wrong)?;
        Ok(read)
    }

    /// The number of the line is ours: serde has only this one, and counts from 1 again.
    fn not_json(&self, error: &serde_json::Error) -> HistoryError {
        self.wrong(
            error
                .to_string()
                .replace(&format!(" at line {} column", error.line()), " at column"),
        )
    }

    fn object(&self) -> Result<&[u8], HistoryError> {
        // An array would do as an object whose fields it has in their order.
        match self.line.trim_ascii_start().first() {
            Some(b'[') => Err(self.wrong("it is no object")),
            // Its end would begin another line.
            _ => Ok(self.line.trim_ascii_end()),
        }
    }

    /// The next line, as `read` reads it; `None` at the end.
    pub fn read_next<T>(
        &mut self,
        read: impl FnOnce(&Self) -> Result<T, HistoryError>,
    ) -> Option<Result<T, HistoryError>> {
        match self.step() {
            Ok(false) => None,
            Ok(true) => Some(read(self).map_err(|error| HistoryError {
                is_cut: !self.line.ends_with(b"\n"),
                ..error
            })),
            Err(error) => Some(Err(error)),
        }
    }
}
