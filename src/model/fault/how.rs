use std::fmt;

/// How a target went down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By SIGKILL; for an app server, by the drop of its runtime.
    Killed,
    /// It ended in good order.
    ShutDown,
    /// In another way, for example by an exit code or a signal.
    Died(String),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("killed"),
            Self::ShutDown => f.write_str("shut down"),
            Self::Died(how) => write!(f, "died: {how}"),
        }
    }
}
