use std::fmt;
use std::time::Instant;

/// Whether a host runs, as the kernel tells: also when somebody else killed or stopped it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostState {
    /// Its processes run.
    Up {
        /// Since when.
        since: Instant,
    },
    /// Its processes have ended.
    Down {
        /// How.
        why: DownWhy,
        /// Since when.
        since: Instant,
    },
    /// Its processes are stopped.
    Paused {
        /// Since when.
        since: Instant,
    },
}

impl HostState {
    /// When the host came into this state.
    #[must_use]
    pub const fn since(&self) -> Instant {
        match self {
            Self::Up { since } | Self::Down { since, .. } | Self::Paused { since } => *since,
        }
    }
}

/// How a host went down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DownWhy {
    /// By SIGKILL.
    Killed,
    /// It ended in good order.
    ShutDown,
    /// In another way: an exit code, a signal.
    Died(String),
}

impl fmt::Display for DownWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("killed"),
            Self::ShutDown => f.write_str("shut down"),
            Self::Died(how) => write!(f, "died: {how}"),
        }
    }
}

/// The verified effect of an action.
#[derive(Debug, Clone)]
pub struct Effect {
    /// When it was verified.
    pub at: Instant,
    /// One line for people, with the proof.
    pub text: String,
}
