//! `--log FILE`: the traces of the library. Nobody ever waits for that file: neither for its disk nor for the reader of a
//! pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lockstorm_base::output::{Stream, foreign_link};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use tracing_subscriber::fmt::MakeWriter;

use crate::failure::{Failure, tell};

/// The log of this process.
pub struct Log {
    path: PathBuf,
    stream: Stream,
}

impl Log {
    /// Appends all further traces to a file.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if is_ours(path) {
            return Err(Failure::usage(format!(
                "--log {}: that is a record or a page; name another file, which is appended to",
                path.display()
            )));
        }
        // Opening a pipe that nobody reads would block.
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut options = OpenOptions::new();
        let file =
            foreign_link(path).and_then(|()| options.create(true).append(true).custom_flags(flags.bits()).open(path));
        let file = file.map_err(|error| {
            let why = match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENXIO) => "nobody has opened it to read".to_owned(),
                Some(Errno::ENOENT) => "its directory is not there; create it first".to_owned(),
                _ => error.to_string(),
            };
            Failure::usage(format!("--log {}: cannot be written: {why}", path.display()))
        })?;
        let stream = Stream::bounded(file);
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .log_internal_errors(false)
            .with_writer(Lines(stream.clone()))
            .init();
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "lockstorm starts");
        let path = path.to_owned();
        Ok(Self { path, stream })
    }

    /// Waits until everything is written, and reports what is missing.
    pub fn end(self) {
        let settled = self.stream.settle();
        let (path, lost) = (self.path.display(), self.stream.lost());
        match settled {
            Err(error) => tell(&format!("--log {path}: is not complete: {error}")),
            Ok(()) if lost > 0 => tell(&format!(
                "--log {path}: is not complete: {lost} lines came too fast for it"
            )),
            Ok(()) => {}
        }
    }
}

/// Whether this is a file that lockstorm has written, but no log: a record begins with `{`, a page with `<`.
fn is_ours(path: &Path) -> bool {
    let mut first = [0];
    let is_file = path.metadata().is_ok_and(|meta| meta.is_file());
    is_file
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut first))
            .is_ok()
        && matches!(&first, b"{" | b"<")
}

/// Each line goes to the stream in one piece.
struct Lines(Stream);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

struct Line<'a>(&'a Stream);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
