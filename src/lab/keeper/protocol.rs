//! The messages between lockstorm and its keeper. Both are the same program, so the protocol needs no versions.

use std::fmt;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// A message to the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(in crate::lab) enum Request {
    /// Start a process.
    Spawn(Spawn),
    /// Send a signal to a process and its children.
    Signal { id: usize, signal: FaultSignal },
}

/// A process to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::lab) struct Spawn {
    /// The id that all later messages use for it.
    pub id: usize,
    /// The program, an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory.
    pub dir: PathBuf,
    /// The file that its stdout and stderr are appended to.
    pub log: PathBuf,
}

/// The signals that faults need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::lab) enum FaultSignal {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Terminate,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
}

impl FaultSignal {
    pub(super) const fn to_nix(self) -> Signal {
        match self {
            Self::Kill => Signal::SIGKILL,
            Self::Terminate => Signal::SIGTERM,
            Self::Stop => Signal::SIGSTOP,
            Self::Continue => Signal::SIGCONT,
        }
    }
}

/// A message from the keeper. What it says about a process comes from `waitpid`, and so from the kernel.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::lab) enum Event {
    /// The keeper runs, and has made this directory.
    Ready { dir: PathBuf },
    /// The keeper ends because of this error.
    Failed { error: String },
    /// The process is running.
    Spawned { id: usize, pid: u32 },
    /// The process could not be started.
    NotSpawned { id: usize, error: String },
    /// The signal was not sent.
    NotSignalled { id: usize, error: String },
    /// The process has ended and was reaped.
    Exited { id: usize, how: Ended },
    /// The process is stopped.
    Stopped { id: usize },
    /// The process runs again.
    Continued { id: usize },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::lab) enum Ended {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => f.write_str(signal.as_str()),
                Err(_) => write!(f, "signal {number}"),
            },
        }
    }
}
