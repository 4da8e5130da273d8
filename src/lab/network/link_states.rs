//! The links of a lab, and what has been done to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as Turn;

use lockstorm_data::model::{Action, Condition, Conditions, How, Link};

/// The links with which something has been done.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<BTreeMap<Link, Arc<LinkState>>>);

/// The state of a link.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    /// Held while an action is under way, so that there is one at a time.
    pub turn: Turn<()>,
    /// What the lab has brought about.
    imposed: Mutex<Conditions<Instant>>,
}

impl Links {
    /// The state of a link. Both ways to name the link of two hosts mean the same.
    pub(crate) fn get(&self, link: Link) -> Arc<LinkState> {
        let link = match link {
            Link::Between(one, other) => Link::Between(one.min(other), one.max(other)),
            group => group,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(link).or_default())
    }

    /// Whether nothing is wrong with any of them.
    pub(crate) fn are_well(&self) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().all(|state| state.conditions().is_up())
    }
}

impl LinkState {
    /// What is wrong with it.
    pub(crate) fn conditions(&self) -> Conditions<Instant> {
        self.imposed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that an action has taken effect.
    pub(crate) fn undergo(&self, action: Action, at: Instant) {
        let mut imposed = self.imposed.lock().unwrap_or_else(PoisonError::into_inner);
        imposed.undergo(action, at);
    }

    /// The delay that a lag has added.
    pub(crate) fn delay(&self) -> Duration {
        match self
            .conditions()
            .get(Condition::Lagging)
            .and_then(|lag| lag.how.clone())
        {
            Some(How::Delayed(delay, _)) => delay,
            _ => Duration::ZERO,
        }
    }
}
