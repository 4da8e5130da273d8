//! Messages as lines of JSON, and how the keeper tells what happens.

use std::io::{self, Write};

use serde::Serialize;

use crate::protocol::{Event, News};

/// A message as a line.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes a message to stdout, whole.
pub(crate) fn emit(message: &impl Serialize) -> io::Result<()> {
    let line = line(message)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Tells what has happened to a server.
pub(crate) fn tell(id: usize, news: News) -> io::Result<()> {
    emit(&Event::Of { id, news })
}
