use std::time::Instant;

use lockstorm_data::model::{Finding, HostId, Observer, Obstacle, Proof, Verified};

/// The result of an action.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Its effect was verified.
    Verified(Verified<Instant>),
    /// The effect was not verified within its limit; the run keeps waiting for it.
    Late(String),
    /// The action failed.
    Failed(String),
}

impl Effect {
    /// The target was in the wanted state already, no matter who brought it there.
    pub(crate) fn already(obstacle: &Obstacle, by: Observer, of: String) -> Self {
        let at = Instant::now();
        let finding = Finding::AlreadySo {
            condition: obstacle.was(),
        };
        let proof = vec![Proof { finding, by, of, at }];
        Self::Verified(Verified { at, proof })
    }

    /// The host whose node took writes as a master after a failover. A Sentinel may have chosen another one than expected.
    pub(crate) fn new_master(&self) -> Option<HostId> {
        let Self::Verified(verified) = self else { return None };
        verified.proof.iter().find_map(|proof| match proof.finding {
            Finding::TakesWrites { host } => Some(host),
            _ => None,
        })
    }

    /// Whether the target was in the wanted state before the action.
    pub(crate) fn was_there(&self) -> bool {
        let is_so = |proof: &Proof<Instant>| matches!(proof.finding, Finding::AlreadySo { .. });
        matches!(self, Self::Verified(verified) if verified.proof.iter().any(is_so))
    }
}
