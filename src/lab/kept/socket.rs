//! The socket at which a kept lab is asked: a line of JSON each way, and then its end.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::error::KeptError;
use crate::directory::opened_run::OpenedRun;
use crate::emit;

/// Its name in the run directory.
const NAME: &str = "control.sock";
/// The longest line that is read, in bytes.
const MOST: u64 = 1 << 20;
/// How long a line that has begun may take: both ends are on this machine.
pub(super) const LINE_TIMEOUT: Duration = Duration::from_secs(5);

/// A runtime on this thread, for those who talk over it.
pub(super) fn runtime() -> Result<Runtime, KeptError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| KeptError::system("start a runtime", error))
}

/// Whether this run directory is that of a kept lab.
pub(super) fn is_in(run: &OpenedRun) -> bool {
    run.has(NAME)
}

/// Listens in this run directory, which only this user can enter.
pub(super) fn listen(run: &OpenedRun) -> io::Result<UnixListener> {
    UnixListener::bind(run.socket(NAME))
}

/// Connects to the process that keeps this lab.
pub(super) async fn connect(run: &OpenedRun) -> io::Result<UnixStream> {
    timeout(LINE_TIMEOUT, UnixStream::connect(run.socket(NAME))).await?
}

/// Sends a message.
pub(super) async fn send(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let line = emit::line(message)?;
    timeout(LINE_TIMEOUT, stream.write_all(&line)).await?
}

/// Receives a message; `None` if the other end closes the connection instead.
pub(super) async fn receive<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    BufReader::new(stream).take(MOST).read_until(b'\n', &mut line).await?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
