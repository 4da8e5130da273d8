//! The keeper as a program: its loop, and its end.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::children::{self, Children};
use super::watched::Watched;
use crate::directory::run_dir::RunDir;
use crate::docker;
use crate::emit::{emit, tell};
use crate::protocol::{Addresses, Event, Ground, News, Request};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// The hidden first argument that makes lockstorm a keeper: of processes, or of the [`Containers`](crate::Containers) that one more names, as JSON.
pub const ARGUMENT: &str = "__keeper";

/// Runs the keeper until its stdin ends.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If nobody listens any more, there is nobody to tell.
            let _ = emit(&Event::Failed {
                error: error.to_string(),
            });
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    // A session of its own, so that a terminal's Ctrl-C, Ctrl-Z or hang-up never reaches the keeper or the servers. This
    // fails only if the process leads a group already, which means that somebody started it by hand.
    let _ = nix::unistd::setsid();
    children::adopt_orphans();
    // Servers write their configuration files anew, with the passwords in them, and their data.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    let changes = signals()?;
    // Dropped in reverse order, even after a panic: first the children are killed and reaped, then keys are removed from
    // the servers of others, then the directory.
    let directory = RunDir::create()?;
    // Only now, because TMPDIR may be relative.
    std::env::set_current_dir("/")?;
    if let Some(containers) = std::env::args().nth(2) {
        return docker::keep(&serde_json::from_str(&containers)?, directory);
    }
    let mut watched = Watched::default();
    let mut children = Children::default();
    emit(&Event::Ready(Ground {
        dir: directory.path().to_owned(),
        addresses: Addresses::Loopback,
    }))?;
    serve(&mut children, &mut watched, &changes)
}

/// Makes the signals that would end the keeper harmless, and returns a stream that becomes readable with each SIGCHLD. The
/// signals get handlers instead of being ignored, because servers would inherit that they are ignored.
fn signals() -> io::Result<UnixStream> {
    let unread = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&unread))?;
    }
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, write)?;
    Ok(read)
}

fn serve(children: &mut Children, watched: &mut Watched, mut changes: &UnixStream) -> io::Result<()> {
    let stdin = io::stdin();
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let (asked, changed) = wait(stdin.as_fd(), changes.as_fd())?;
        if changed {
            // Emptied before the children are checked, so a change in between makes it readable again.
            while changes.read(&mut buffer).is_ok_and(|n| n > 0) {}
            for (id, news) in children.changes() {
                tell(id, news)?;
            }
        }
        if asked {
            // Not through `Stdin`, because `poll` does not see its buffer.
            let n = nix::unistd::read(&stdin, &mut buffer)?;
            if n == 0 {
                return Ok(());
            }
            pending.extend_from_slice(&buffer[..n]);
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                obey(children, watched, serde_json::from_slice(&line)?)?;
            }
        }
    }
}

/// Waits until there is something to read, and returns which of the two is readable.
fn wait(stdin: BorrowedFd<'_>, changes: BorrowedFd<'_>) -> io::Result<(bool, bool)> {
    let mut fds = [
        PollFd::new(stdin, PollFlags::POLLIN),
        PollFd::new(changes, PollFlags::POLLIN),
    ];
    match poll(&mut fds, PollTimeout::NONE) {
        // Unknown flags count as readable: reading then shows what it is.
        Ok(_) => Ok((fds[0].any().unwrap_or(true), fds[1].any().unwrap_or(true))),
        Err(Errno::EINTR) => Ok((false, false)),
        Err(error) => Err(error.into()),
    }
}

fn obey(children: &mut Children, watched: &mut Watched, request: Request) -> io::Result<()> {
    match request {
        Request::Watch(watch) => watched.add(watch),
        Request::Start(start) => {
            let news = match children.spawn(&start) {
                Ok(pid) => News::Started {
                    pid,
                    inside: pid,
                    at: None,
                },
                Err(error) => News::NotStarted(error.to_string()),
            };
            tell(start.id, news)
        }
        Request::Order { id, order } => match children.obey(id, order) {
            Ok(()) => Ok(()),
            Err(error) => tell(id, News::NotDone(error.to_string())),
        },
    }
}
