use std::fmt;
use std::time::Duration;

use super::direction::Direction;
use crate::model::setting::setting;

/// How a target came into a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By SIGKILL; for an app server, by the drop of its runtime.
    Killed,
    /// It ended in good order.
    ShutDown,
    /// In another way, for example by an exit code or a signal.
    Died(String),
    /// A server that is not ours can't be asked any more, for this reason.
    Gone(String),
    /// Everything takes this much longer on these ways.
    Delayed(Duration, Direction),
    /// Nothing arrives on these ways.
    Silenced(Direction),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("killed"),
            Self::ShutDown => f.write_str("shut down"),
            Self::Died(how) => write!(f, "died: {how}"),
            Self::Gone(why) => write!(f, "gone: {why}"),
            Self::Delayed(delay, Direction::Both) => write!(f, "{} each way", setting(*delay)),
            Self::Delayed(delay, direction) => write!(f, "{} {direction}", setting(*delay)),
            Self::Silenced(direction) => direction.fmt(f),
        }
    }
}
