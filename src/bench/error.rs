//! Why a bench produced nothing.

use lockstorm_lab::LabError;
use lockstorm_lock::SessionError;

/// Why a bench produced nothing.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A host did not start, or could not be broken or restored.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A node did not answer.
    #[error("a node does not answer: {0}")]
    Node(#[from] SessionError),
    /// The process has no runtime, or can't listen for signals.
    #[error("cannot start: {0}")]
    Io(#[from] std::io::Error),
}
