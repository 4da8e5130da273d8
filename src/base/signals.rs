//! The signals that ask for an end, and the one that says that a stop is over.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use signal_hook::SigId;
use signal_hook::consts::SIGCONT;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A request to end, by the signal with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT: Ctrl-C.
    Interrupt = 2,
    /// SIGTERM.
    Terminate = 15,
    /// SIGHUP: the terminal is gone, because its window was closed or its connection was lost.
    HangUp = 1,
    /// SIGQUIT: Ctrl-\.
    Quit = 3,
}

impl Stop {
    const ALL: [Self; 4] = [Self::Interrupt, Self::Terminate, Self::HangUp, Self::Quit];

    const fn kind(self) -> SignalKind {
        SignalKind::from_raw(self as i32)
    }

    /// The exit code of a process that ends by it: 128 plus the signal's number, as in a shell.
    pub const fn exit_code(self) -> u8 {
        128 + self as u8
    }

    /// Whether whoever started us wants us to survive this signal, as `nohup` does.
    fn is_ignored(self) -> bool {
        // The other signals always count: shells without job control start background processes with SIGINT and SIGQUIT
        // ignored.
        if self != Self::HangUp {
            return false;
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let set = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        set.is_some_and(|set| set >> (self.kind().as_raw_value() - 1) & 1 == 1)
    }

    /// All of them but those that whoever started us wants us to survive.
    pub fn all_heeded() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|stop| !stop.is_ignored())
    }
}

/// Receives every request to end from the moment it is made.
#[derive(Debug)]
pub struct Stops {
    signals: Vec<(Stop, Signal)>,
    hung_up: bool,
}

impl Stops {
    /// Listens from now on. It must be called on a runtime with I/O enabled. A SIGHUP that was ignored when we were
    /// started stays ignored.
    ///
    /// # Errors
    /// The system refused.
    pub fn listen() -> io::Result<Self> {
        let signals = Stop::all_heeded().map(|stop| Ok((stop, signal(stop.kind())?)));
        Ok(Self {
            signals: signals.collect::<io::Result<_>>()?,
            hung_up: false,
        })
    }

    /// The next request. A hang-up is reported once, although shell and kernel both send a signal for it.
    pub async fn next(&mut self) -> Stop {
        loop {
            let stop = poll_fn(|context| {
                let came = |(stop, signal): &mut (Stop, Signal)| signal.poll_recv(context).is_ready().then_some(*stop);
                self.signals
                    .iter_mut()
                    .find_map(came)
                    .map_or(Poll::Pending, Poll::Ready)
            })
            .await;
            let again = stop == Stop::HangUp && std::mem::replace(&mut self.hung_up, true);
            if !again {
                return stop;
            }
        }
    }
}

/// Notices that this process was stopped by a signal and runs again: SIGCONT comes.
#[derive(Debug)]
pub struct Resumed {
    came: Arc<AtomicBool>,
    listener: Option<SigId>,
}

impl Resumed {
    /// Listens from now on. If the system refuses, nothing is ever noticed.
    pub fn listen() -> Self {
        let came = Arc::default();
        let listener = signal_hook::flag::register(SIGCONT, Arc::clone(&came)).ok();
        Self { came, listener }
    }

    /// Whether that has happened since the last call. Another thread may handle the signal, a moment after this one runs again.
    pub fn take(&self) -> bool {
        self.came.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Resumed {
    fn drop(&mut self) {
        self.listener.map(signal_hook::low_level::unregister);
    }
}

/// From now on each of these signals ends the process at once, with its exit code. To be called when nothing is left to
/// clean up, and only a slow reader of our output may still take time.
///
/// # Errors
/// The system refused.
pub fn stop_at_once() -> io::Result<()> {
    for stop in Stop::all_heeded() {
        let always = Arc::new(AtomicBool::new(true));
        let signal = stop.kind().as_raw_value();
        signal_hook::flag::register_conditional_shutdown(signal, stop.exit_code().into(), always)?;
    }
    Ok(())
}
