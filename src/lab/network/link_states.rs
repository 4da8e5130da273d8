//! The links of a lab, and what has been done to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::imposed::Imposed;
use lockstorm_data::model::Link;

/// The links with which something has been done.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<BTreeMap<Link, Arc<Imposed>>>);

impl Links {
    /// The state of a link. Both ways to name the link of two hosts mean the same.
    pub(crate) fn get(&self, link: Link) -> Arc<Imposed> {
        let link = match link {
            Link::Between(one, other) => Link::Between(one.min(other), one.max(other)),
            group => group,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(link).or_default())
    }

    /// Those with which something is wrong.
    pub(crate) fn broken(&self) -> Vec<Link> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = all.iter().filter(|(_, state)| !state.conditions().is_up());
        broken.map(|(link, _)| *link).collect()
    }
}
