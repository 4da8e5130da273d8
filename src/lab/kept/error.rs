use std::fmt::Display;

use crate::error::LabError;

/// Why a lab can't be kept, or not be asked; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The lab did not start.
    #[error("{}", words(.0))]
    Lab(#[from] LabError),
    /// The process that should keep the lab has ended.
    #[error("the process that keeps the lab has ended: {0}; start again with `lockstorm lab up`")]
    Ended(String),
    /// Its answer can't be read.
    #[error(
        "the answer of the process that keeps the lab can't be read ({0}): if another version of lockstorm has started it, use \
         that one"
    )]
    Strange(String),
    /// The order is impossible on any machine.
    #[error("{0}")]
    Impossible(String),
    /// There is no lab or no answer, for another reason.
    #[error("{0}")]
    Failed(String),
}

impl KeptError {
    /// The system refused what was tried.
    pub(super) fn system(what: impl Display, error: impl Display) -> Self {
        Self::Failed(format!("cannot {what}: {error}"))
    }

    /// Whether what was asked for is impossible, so that nothing was started.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Impossible(_) | Self::Lab(LabError::PortRange { .. }))
    }
}

/// The lab's message, with what to do about ports at this command.
fn words(error: &LabError) -> String {
    match error {
        LabError::PortTaken { port, why, node } => format!(
            "port {port} for {node} {why}: end what listens there, or choose other ports with --port (0: any that are free)"
        ),
        LabError::PortRange { port, count } => {
            format!("--port {port} leaves no room for {count} ports: the last port is 65535")
        }
        other => other.to_string(),
    }
}
