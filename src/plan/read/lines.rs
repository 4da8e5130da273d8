use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Take};

/// The longest line, in KiB.
pub(super) const LONGEST: u64 = 64;
/// What spreadsheets write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a text file, read one after the other, again and again: of a large file there is never more than one line in memory.
pub(super) struct Lines<'a> {
    file: &'a File,
    /// How much of it is read, so that a file that grows has an end.
    size: u64,
    reader: BufReader<Take<&'a File>>,
    line: Vec<u8>,
    /// Of the line, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    /// Those in the first `size` bytes.
    pub fn of(file: &'a File, size: u64) -> Self {
        Self {
            file,
            size,
            reader: BufReader::new(file.take(size)),
            line: Vec::new(),
            number: 0,
        }
    }

    /// Goes back to the first line, behind a byte order mark; the caller may read the text from there.
    pub fn rewind(&mut self) -> Result<&mut impl Read, String> {
        let cannot = |error| format!("cannot be read: {error}");
        self.file.rewind().map_err(cannot)?;
        *self = Self::of(self.file, self.size);
        if self.reader.fill_buf().map_err(cannot)?.starts_with(BYTE_ORDER_MARK) {
            self.reader.consume(BYTE_ORDER_MARK.len());
        }
        Ok(&mut self.reader)
    }

    /// The next line without its end, and its number from 1.
    pub fn next(&mut self) -> Result<Option<(usize, &str)>, String> {
        self.line.clear();
        self.number += 1;
        let most = LONGEST << 10;
        let read = (&mut self.reader).take(most + 1).read_until(b'\n', &mut self.line);
        match read.map_err(|error| format!("cannot be read: {error}"))? {
            0 => return Ok(None),
            read if read as u64 > most => return Err(format!("line {}: is longer than {LONGEST} KiB", self.number)),
            _ => {}
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| {
            format!(
                "line {}: is not text; give CSV, .hgrm, or the text of a Prometheus histogram",
                self.number
            )
        })?;
        Ok(Some((self.number, line)))
    }
}
