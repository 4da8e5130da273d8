use std::path::PathBuf;

/// What a run needs besides its scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The redis-server or valkey-server to start; `None`: the first one on PATH.
    pub server_bin: Option<PathBuf>,
    /// The lockstorm executable that becomes the keeper; `None`: this program.
    pub keeper: Option<PathBuf>,
}
