//! The messages between lockstorm and its keeper, the same whatever the nodes run as: processes or containers. Both ends are the
//! same program, so the protocol needs no versions.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::preload::control::Control;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// A message to the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Start a server.
    Start(Start),
    /// Watch a server that is not ours, and remove the run's keys from it at the end.
    Watch(Watch),
    /// Do this to a server and all that it has started.
    Order { id: usize, order: NodeOrder },
}

/// A server to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
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
    /// The socket that its stdin and stdout are connected to instead, if it is to be talked with. Its environment names it, too.
    pub talk: Option<PathBuf>,
    /// The library that it is to load, and its file.
    pub control: Option<Box<Control>>,
}

/// A server to watch. Its URL has a password, which is why it comes by a pipe.
#[derive(Serialize, Deserialize)]
pub(crate) struct Watch {
    /// The id that all later messages use for it.
    pub id: usize,
    /// Its URL.
    pub url: String,
    /// What the keys of the run begin with.
    pub prefix: String,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the password.
        f.debug_tuple("Watch").field(&self.id).finish()
    }
}

/// What faults need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeOrder {
    /// End at once.
    Kill,
    /// End in good order.
    ShutDown,
    /// Stand still.
    Pause,
    /// Go on.
    Continue,
    /// Leave the network.
    Leave,
    /// Be in the network again.
    Rejoin,
}

/// Where the servers of a lab are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Addresses {
    /// All are on loopback, as is everybody else on this machine.
    Loopback,
    /// The one with the id 0 is here, and the others have the next addresses.
    From(Ipv4Addr),
    /// Each start tells.
    Told,
}

/// What a keeper has made before any server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ground {
    /// The run directory.
    pub dir: PathBuf,
    /// Where its servers will be.
    pub addresses: Addresses,
}

impl Ground {
    /// Where the server with this id will listen; a placeholder if nobody knows that yet.
    pub(crate) fn ip(&self, id: usize) -> Ipv4Addr {
        // A lab has a few dozen servers.
        let offset = u32::try_from(id).unwrap_or_default();
        match self.addresses {
            Addresses::From(first) => Ipv4Addr::from_bits(first.to_bits().saturating_add(offset)),
            Addresses::Loopback | Addresses::Told => Ipv4Addr::LOCALHOST,
        }
    }

    /// Whether everybody else on this machine has the same address.
    pub(crate) const fn is_loopback(&self) -> bool {
        matches!(self.addresses, Addresses::Loopback)
    }
}

/// A message from the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The keeper runs, and has made this.
    Ready(Ground),
    /// The keeper ends because of this error.
    Failed { error: String },
    /// Something has happened to a server.
    Of { id: usize, news: News },
}

/// What has happened to a server: by the kernel (`waitpid`) or the engine of the containers; to one that is not ours, by its
/// answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum News {
    /// It is running.
    Started {
        /// The id of its process on this machine.
        pid: u32,
        /// The id that it says of itself.
        inside: u32,
        /// Where it listens, if nobody could know that before.
        at: Option<SocketAddr>,
    },
    /// It could not be started, for this reason.
    NotStarted(String),
    /// The order was not carried out, for this reason.
    NotDone(String),
    /// It has ended, and nothing of it is left.
    Ended(Ending),
    /// It has left its network.
    Left,
    /// It is in its network again, and listens here, if nobody could know that before.
    Rejoined(Option<SocketAddr>),
    /// It stands still.
    Paused,
    /// It goes on.
    Continued,
    /// It is not ours, and answers.
    Reached {
        /// Why keys could not be removed there, if that was tried and is so.
        lacks: Option<String>,
    },
    /// It is not ours, and can't be asked any more, for this reason.
    Gone(String),
    /// It is not ours, and the run's keys could not all be removed from it, for this reason.
    KeysLeft(String),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
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
