use std::time::Instant;

use crate::model::{Finding, Observer, Obstacle, Proof, Verified};

/// What became of an action.
#[derive(Debug)]
pub(super) enum Effect {
    /// Its effect was verified.
    Verified(Verified<Instant>),
    /// Its effect was not verified within its limit; it is still waited for.
    Late(String),
    /// It failed.
    Failed(String),
}

impl Effect {
    /// What the scenario wants is so already, whoever did it.
    pub(super) fn already(obstacle: &Obstacle, by: Observer, of: String) -> Self {
        let at = Instant::now();
        let finding = Finding::AlreadySo {
            condition: obstacle.was(),
        };
        let proof = vec![Proof { finding, by, of, at }];
        Self::Verified(Verified { at, proof })
    }
}
