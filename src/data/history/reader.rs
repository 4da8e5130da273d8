use std::io::BufRead;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::lines::{HistoryError, Lines};
use super::operation::{Head, Line, Operation};

/// What to do about a mistake.
const CURE: &str = "name a file that `lockstorm run --history` has written";

/// Reads a history line by line: there is never more than one line in memory. A last line that was cut off is left out.
#[derive(Debug)]
pub struct Reader<R> {
    /// The first line.
    pub head: Head,
    lines: Lines<R>,
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
        let mut lines = Lines::of(source, CURE);
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

fn read(lines: &Lines<impl BufRead>) -> Result<Line, HistoryError> {
    #[derive(Deserialize)]
    struct Kind {
        op: Option<IgnoredAny>,
    }
    if lines.parse::<Kind>()?.op.is_none() {
        return Ok(Line::Fault(lines.parse()?));
    }
    let operation: Operation = lines.parse()?;
    match &operation {
        Operation::Acquire(acquire) if acquire.returned < acquire.call => {
            Err(lines.wrong("it returns before its call"))
        }
        Operation::Release(release) if release.returned < release.call => {
            Err(lines.wrong("it returns before its call"))
        }
        _ => Ok(Line::Operation(operation)),
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.lines.read_next(read) {
            Some(Err(error)) if error.is_cut => None,
            line => line,
        }
    }
}
