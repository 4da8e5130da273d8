//! What the lab has brought about at a host or a link, besides what is reported of processes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as Turn;

use lockstorm_data::model::{Action, Condition, Conditions, Direction, Fault, How};

/// The conditions of a host or a link that only the lab knows.
#[derive(Debug, Default)]
pub(crate) struct Imposed {
    /// Held while an action is under way, so that there is one at a time.
    pub turn: Turn<()>,
    conditions: Mutex<Conditions<Instant>>,
}

impl Imposed {
    /// What is wrong.
    pub(crate) fn conditions(&self) -> Conditions<Instant> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that an action has taken effect. What the kernel reports is left out.
    pub(crate) fn undergo(&self, action: Action, at: Instant) {
        let mut conditions = self.conditions.lock().unwrap_or_else(PoisonError::into_inner);
        conditions.undergo(action, at);
        conditions.retain(Condition::is_imposed);
    }

    /// The delay that a lag has added, and which ways take it.
    pub(crate) fn lag(&self) -> (Duration, Direction) {
        match self
            .conditions()
            .get(Condition::Lagging)
            .and_then(|lag| lag.how.clone())
        {
            Some(How::By(Fault::Lag { delay, direction })) => (delay, direction),
            _ => (Duration::ZERO, Direction::default()),
        }
    }

    /// Whether new connections are refused.
    pub(crate) fn refuses(&self) -> bool {
        let conditions = self.conditions();
        let how = conditions.get(Condition::Degraded).map(|degraded| &degraded.how);
        matches!(how, Some(Some(How::By(Fault::Refuse))))
    }

    /// The speed of a slow link, in bytes a second; `None` if it is not slow.
    pub(crate) fn speed(&self) -> Option<u64> {
        match self.conditions().get(Condition::Lagging)?.how {
            Some(How::By(Fault::SlowLink { bytes_per_second })) => Some(bytes_per_second),
            _ => None,
        }
    }
}
