//! How the keeper tells what happens.

use std::io::{self, Write};

use crate::protocol::Event;

/// Sends a message to Lockstorm, whole.
pub(crate) fn emit(event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
