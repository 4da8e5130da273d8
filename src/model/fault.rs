use std::fmt;

use serde::{Deserialize, Serialize};

use super::{HostId, ServerId};

/// What a fault, or its end, does to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// SIGKILL on a host; on an app server its runtime is dropped and it sends nothing more.
    Kill,
    /// SIGTERM: the node saves, if its persistence says so, and ends. Hosts only.
    Shutdown,
    /// SIGSTOP on a host; on an app server its thread is blocked, timers and renewals included.
    Pause,
    /// The end of a pause.
    Resume,
    /// The end of a kill or a shutdown: the node starts again on its port and directory. Hosts only.
    Restart,
}

impl Action {
    /// The word for it in scenarios and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Shutdown => "shutdown",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Restart => "restart",
        }
    }

    /// The action that undoes this one, as `for = …` does; none for an action that already restores.
    #[must_use]
    pub const fn undo(self) -> Option<Self> {
        match self {
            Self::Kill | Self::Shutdown => Some(Self::Restart),
            Self::Pause => Some(Self::Resume),
            Self::Resume | Self::Restart => None,
        }
    }

    /// One capital letter for marks on a time axis.
    #[must_use]
    pub const fn mark(self) -> char {
        match self {
            Self::Kill => 'K',
            Self::Shutdown => 'S',
            Self::Pause => 'P',
            Self::Resume | Self::Restart => 'R',
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A host with all its nodes.
    Host(HostId),
    /// An app server with all its workers.
    Server(ServerId),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(id) => id.fmt(f),
            Self::Server(id) => id.fmt(f),
        }
    }
}
