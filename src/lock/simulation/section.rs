use std::time::Duration;

use super::worker::WorkerStage;
use super::world::World;

/// A section that somebody is in, with what nodes keep of its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The position of the holder's app server.
    pub app_server: usize,
    /// Tells this section from all others; later ones have greater numbers.
    pub number: u64,
    /// How long the holder may still rely on its lock; zero once its validity is over or its loss was signalled.
    pub valid_for: Duration,
    /// The nodes that have its key now.
    pub kept: usize,
    /// The nodes that have lost its key, which would still exist on them: they forgot it, or their clock jumped.
    pub lost: usize,
}

impl World {
    /// The sections for this key that are open now, in the order in which they were entered. A holder stays in its section when
    /// its validity ends, and while its app server is frozen. Looking is not free: look when something may have changed.
    #[must_use]
    pub fn sections(&self, key: usize) -> Vec<Section> {
        let holding = |worker: &&super::worker::Worker| worker.stage == WorkerStage::Holding && worker.key == key;
        let mut sections: Vec<Section> = self
            .workers
            .iter()
            .filter(holding)
            .filter_map(|worker| {
                let token = self.claims[worker.claim?].token;
                let belief = self.beliefs[key].iter().find(|belief| belief.token == token);
                let valid_for = belief.map_or(0, |belief| belief.until.saturating_sub(self.now));
                let (kept, lost) = self.evidence(token, key);
                Some(Section {
                    app_server: worker.app,
                    number: token,
                    valid_for: Duration::from_nanos(valid_for),
                    kept,
                    lost,
                })
            })
            .collect();
        sections.sort_unstable_by_key(|section| section.number);
        sections
    }
}
