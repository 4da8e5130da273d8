//! The threads that turn keys, signals and snapshots into messages.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::ConsoleError;
use super::app::Message;
use crate::metrics::Phase;
use crate::run::RunHandle;

/// How long the keyboard thread may take to notice that it is over.
const KEYBOARD: Duration = Duration::from_millis(100);
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(|source| ConsoleError::Listen {
        what: "signals",
        source,
    })?;
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
    let [terminate, hangup, interrupt] = {
        let _inside = runtime.enter();
        kinds.map(signal)
    };
    let install = || -> io::Result<_> { Ok((terminate?, hangup?, interrupt?)) };
    let mut streams = install().map_err(|source| ConsoleError::Listen {
        what: "signals",
        source,
    })?;
    let messages = messages.clone();
    spawn("signals", move || {
        runtime.block_on(async move {
            let [terminate, hangup, interrupt] = kinds.map(|kind| kind.as_raw_value());
            tokio::pin!(until);
            loop {
                let number = tokio::select! {
                    _ = streams.0.recv() => terminate,
                    _ = streams.1.recv() => hangup,
                    _ = streams.2.recv() => interrupt,
                    _ = &mut until => return,
                };
                if messages.send(Message::Signal(number)).is_err() {
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
        let message =
            match event::poll(KEYBOARD).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
                Ok(Some(Event::Key(key))) => Message::Key(key),
                Ok(Some(Event::Resize(..))) => Message::Resize,
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    let _ = messages.send(Message::InputLost);
                    return;
                }
            };
        if messages.send(message).is_err() {
            return;
        }
    }
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
