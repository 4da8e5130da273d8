use std::fmt;

use super::kind::Fault;

/// How a target came into a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By this fault, or in the same way. An app server is killed by the drop of its runtime.
    By(Fault),
    /// It ended in another way, for example by an exit code or a signal.
    Died(String),
    /// A server that is not ours can't be asked any more, for this reason.
    Gone(String),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(fault) => f.write_str(&fault.way()),
            Self::Died(how) => write!(f, "died: {how}"),
            Self::Gone(why) => write!(f, "gone: {why}"),
        }
    }
}

impl Fault {
    /// How its target comes into the condition that it brings, if there are several ways.
    pub fn how(self) -> Option<How> {
        let is_one_of_several = self.brings().is_some() && !self.way().is_empty();
        is_one_of_several.then_some(How::By(self))
    }
}
