use std::path::PathBuf;

use crate::under_test::OtherArms;
use lockstorm_base::output::Stream;
use lockstorm_lab::ServerBinary;

/// What a run needs besides its scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The server program of the nodes; `None`: the first redis-server or valkey-server on PATH.
    pub server: Option<ServerBinary>,
    /// The etcd of scenarios that have locks on it; `None`: the first on PATH.
    pub etcd: Option<PathBuf>,
    /// The lockstorm executable that becomes the keeper; `None`: this program.
    pub keeper: Option<PathBuf>,
    /// Whether the schedule is held from the start.
    pub held: bool,
    /// The arms that have other locks than the scenario says.
    pub other_locks: OtherArms,
    /// Where the journal is written.
    pub journal: Option<Stream>,
    /// Where a history of all operations on locks goes while the run goes on, as lines; `None`: nowhere.
    pub history: Option<Stream>,
}
