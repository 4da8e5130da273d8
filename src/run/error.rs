use std::io;

use crate::store::StoreError;
use crate::swarm::SwarmError;
use crate::workload::CacheError;
use lockstorm_lab::LabError;

/// Why a run ended without a record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab did not start.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// An app server did not start.
    #[error(transparent)]
    Swarm(#[from] SwarmError),
    /// The tables of an arm could not be created.
    #[error("the database of arm \"{0}\": {1}")]
    Store(String, StoreError),
    /// The database could not be reached.
    #[error(transparent)]
    Database(#[from] StoreError),
    /// The database has fewer free connections than the scenario needs.
    #[error(
        "the database has {free} connections left and this scenario needs {needed} (app servers × arms × pool + 2 × arms, and \
         one for each worker of a session lock): lower database.pool, or raise max_connections"
    )]
    Connections {
        /// How many the scenario needs.
        needed: u64,
        /// How many are free.
        free: u64,
    },
    /// The cache node could not be prepared.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The run was stopped before the load began.
    #[error("stopped before the load began")]
    Stopped,
    /// The thread of the run could not start.
    #[error("the run's thread could not start: {0}")]
    Thread(io::Error),
    /// It could not start what runs its tasks.
    #[error("the run's thread has no runtime: {0}")]
    Runtime(io::Error),
    /// Signals can't be received.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    /// The thread of the run panicked.
    #[error("the run's thread panicked; this is a bug")]
    Panicked,
    /// The run has ended without a result.
    #[error("the run was lost; this is a bug")]
    Lost,
}
