//! The threads that turn keys, signals and snapshots into messages.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::ConsoleError;
use super::app::Message;
use crate::metrics::Phase;
use crate::run::{RunHandle, Stops};

/// How long the keyboard thread may take to notice that it is over, or that the terminal has another size: in milliseconds.
const KEYBOARD: u8 = 50;
/// The least time between two snapshots that are drawn: ten a second.
const FRAME: Duration = Duration::from_millis(100);

/// The keyboard and signal threads; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Inputs {
    over: Arc<AtomicBool>,
    _signals: oneshot::Sender<()>,
}

impl Drop for Inputs {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Starts listening to keys and signals.
pub(super) fn listen(messages: &Sender<Message>) -> Result<Inputs, ConsoleError> {
    let over = Arc::new(AtomicBool::new(false));
    let (signals, until) = oneshot::channel();
    let keyboard = (messages.clone(), over.clone());
    spawn("keys", move || read_keys(&keyboard.0, &keyboard.1))?;
    // The handlers are installed before the first run starts, so that no signal can leave a lab behind.
    let failed = |source| ConsoleError::Listen {
        what: "signals",
        source,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(failed)?;
    let install = || -> io::Result<_> {
        let _inside = runtime.enter();
        let pauses = [SIGTSTP, SIGCONT].map(|number| signal(SignalKind::from_raw(number)));
        let [suspend, go_on] = pauses;
        Ok((Stops::listen()?, suspend?, go_on?))
    };
    let (mut stops, mut suspend, mut go_on) = install().map_err(failed)?;
    let messages = messages.clone();
    spawn("signals", move || {
        runtime.block_on(async move {
            tokio::pin!(until);
            loop {
                let message = tokio::select! {
                    stop = stops.next() => Message::Stop(stop),
                    _ = suspend.recv() => Message::Suspend,
                    _ = go_on.recv() => Message::Continued,
                    _ = &mut until => return,
                };
                if messages.send(message).is_err() {
                    return;
                }
            }
        });
    })?;
    Ok(Inputs {
        over,
        _signals: signals,
    })
}

fn spawn(what: &'static str, body: impl FnOnce() + Send + 'static) -> Result<(), ConsoleError> {
    let spawned = thread::Builder::new().name(format!("console {what}")).spawn(body);
    spawned
        .map(drop)
        .map_err(|source| ConsoleError::Listen { what, source })
}

fn read_keys(messages: &Sender<Message>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        // Asked before crossterm is, which would read from a terminal that has gone for ever.
        let read = if has_hung_up() {
            Err(io::ErrorKind::NotConnected.into())
        } else {
            pass_on(messages)
        };
        match read {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                // Nobody to tell means that the console is over.
                let _ = messages.send(Message::TerminalLost);
                return;
            }
        }
    }
}

/// Waits for a moment until the terminal has something to say; whether it has gone for good.
fn has_hung_up() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    let answered = poll(&mut fds, PollTimeout::from(KEYBOARD)).is_ok();
    answered && fds[0].revents().is_some_and(|events| events.intersects(gone))
}

/// Passes on all that the terminal has to say now: keys, and that its size has changed.
fn pass_on(messages: &Sender<Message>) -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        let message = match event::read()? {
            Event::Key(key) => Message::Key(key),
            Event::Resize(..) => Message::Resize,
            _ => continue,
        };
        messages.send(message).map_err(|_| io::ErrorKind::BrokenPipe)?;
    }
    Ok(())
}

/// Starts a thread that hands on the run's snapshots and, at the end, its record.
pub(super) fn follow(handle: RunHandle, messages: &Sender<Message>) -> Result<(), ConsoleError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|source| ConsoleError::Listen {
        what: "the run",
        source,
    })?;
    let messages = messages.clone();
    spawn("run", move || {
        let mut snapshots = handle.snapshots.clone();
        runtime.block_on(async {
            loop {
                let snapshot = snapshots.borrow_and_update().clone();
                let last = matches!(snapshot.phase, Phase::Finished { .. } | Phase::Failed(_));
                // When the console is gone the end of the run is still waited for.
                let _ = messages.send(Message::Snapshot(snapshot));
                if last {
                    break;
                }
                thread::sleep(FRAME);
                if snapshots.changed().await.is_err() {
                    break;
                }
            }
        });
        let _ = messages.send(Message::Finished(handle.finish().map(Box::new)));
    })
}
