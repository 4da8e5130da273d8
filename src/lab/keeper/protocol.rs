//! The messages between lockstorm and its keeper, the same whatever the nodes run as: processes or containers. Both ends are the
//! same program, so the protocol needs no versions.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// A message to the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(in crate::lab) enum Request {
    /// Start a server.
    Start(Start),
    /// Do this to a server and all that it has started.
    Order { id: usize, order: Order },
}

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lab) struct Start {
    /// The id that all later messages use for it.
    pub id: usize,
    /// The program: an absolute path, or its name in an image.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory.
    pub dir: PathBuf,
    /// The file that its stdout and stderr are appended to.
    pub log: PathBuf,
}

/// What faults need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::lab) enum Order {
    /// End at once.
    Kill,
    /// End in good order.
    ShutDown,
    /// Stand still.
    Pause,
    /// Go on.
    Continue,
}

/// A message from the keeper. What it says about a server comes from the kernel (`waitpid`) or from the engine of the
/// containers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(in crate::lab) enum Event {
    /// The keeper runs, and has made this directory.
    Ready {
        dir: PathBuf,
        /// The address of the server with the id 0; the others have the next ones. `None`: all are on loopback.
        first: Option<Ipv4Addr>,
    },
    /// The keeper ends because of this error.
    Failed { error: String },
    /// The server is running.
    Started {
        id: usize,
        /// The id of its process on this machine.
        pid: u32,
        /// The id that it says of itself.
        inside: u32,
    },
    /// The server could not be started.
    NotStarted { id: usize, error: String },
    /// The order was not carried out.
    NotDone { id: usize, error: String },
    /// The server has ended, and nothing of it is left.
    Ended { id: usize, how: Ending },
    /// The server stands still.
    Paused { id: usize },
    /// The server goes on.
    Continued { id: usize },
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::lab) enum Ending {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Ending {
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
