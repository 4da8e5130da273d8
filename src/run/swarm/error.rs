use crate::store::StoreError;
use crate::workload::CacheError;
use lockstorm_data::model::{Action, HostId, Obstacle, ServerId};

/// Why an app server could not start or be changed.
#[derive(Debug, thiserror::Error)]
pub enum SwarmError {
    #[error("{0}: its thread could not start: {1}")]
    Thread(ServerId, std::io::Error),
    #[error("the thread that deals requests could not start: {0}")]
    Dealer(std::io::Error),
    #[error("{0}: the database of arm \"{1}\": {2}")]
    Store(ServerId, String, StoreError),
    #[error("{0}: {1} has no lock node")]
    NoLockNode(ServerId, HostId),
    #[error("{0}: the lock of arm \"{1}\": {2}")]
    Lock(ServerId, String, String),
    #[error("{0}: what another program reported can't be played")]
    Reported(ServerId),
    #[error("{0}: {1}")]
    Cache(ServerId, CacheError),
    #[error("cannot {} {id}: it {obstacle}", action.verbs()[0])]
    Impossible {
        action: Action,
        id: ServerId,
        obstacle: Obstacle,
    },
    #[error("{0} ended by itself; this is a bug")]
    Ended(ServerId),
}

impl SwarmError {
    /// What an action has met.
    pub(crate) const fn obstacle(&self) -> Option<&Obstacle> {
        match self {
            Self::Impossible { obstacle, .. } => Some(obstacle),
            _ => None,
        }
    }
}
