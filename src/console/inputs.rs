//! The threads that turn keys, signals and snapshots into messages.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::dup2_stdin;
use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::app::Message;
use super::options::ConsoleError;
use lockstorm_base::Stops;
use lockstorm_run::{Phase, RunHandle};

/// How long the threads that watch the terminal may take to notice that they are to end.
const LOOK: Duration = Duration::from_millis(100);
/// The shortest time between two snapshots that are drawn: ten a second.
const FRAME: Duration = Duration::from_millis(100);

/// The keyboard and signal threads. They end when this is dropped.
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

/// Starts listening for keys and signals.
pub(super) fn listen(messages: &Sender<Message>) -> Result<Inputs, ConsoleError> {
    let over = Arc::new(AtomicBool::new(false));
    let (signals, until) = oneshot::channel();
    let keyboard = (messages.clone(), over.clone());
    spawn("keys", move || read_keys(&keyboard.0, &keyboard.1))?;
    let terminal = (messages.clone(), over.clone());
    spawn("terminal", move || watch_terminal(&terminal.0, &terminal.1))?;
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
        let message = match event::poll(LOOK).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
            Ok(Some(Event::Key(key))) => Message::Key(key),
            Ok(Some(Event::Mouse(event))) => Message::Mouse(event),
            Ok(Some(Event::Resize(..))) => Message::Resize,
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => {
                let _ = messages.send(Message::TerminalLost);
                return;
            }
        };
        if messages.send(message).is_err() {
            return;
        }
    }
}

/// Reports when the terminal is gone. The keyboard thread can't: crossterm would read from such a terminal in a busy loop,
/// so standard input is replaced by a pipe that never has anything to read.
fn watch_terminal(messages: &Sender<Message>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
        let looked = poll(&mut fds, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO));
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        if looked.is_ok() && fds[0].revents().is_some_and(|events| events.intersects(gone)) {
            if let Ok((silence, open)) = io::pipe()
                && dup2_stdin(silence).is_ok()
            {
                // It must stay open: a closed pipe would be readable.
                std::mem::forget(open);
            }
            let _ = messages.send(Message::TerminalLost);
            return;
        }
    }
}

/// Starts a thread that forwards the run's snapshots and, at the end, its record.
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
                // If the console is gone, this still waits for the end of the run.
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
