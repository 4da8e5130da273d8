use std::path::PathBuf;

/// What a run needs besides its scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The redis-server or valkey-server to start; none: the first on PATH.
    pub server_bin: Option<PathBuf>,
    /// The lockstorm executable that becomes the keeper; none: this program.
    pub keeper: Option<PathBuf>,
}
