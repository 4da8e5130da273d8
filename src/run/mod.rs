//! One run from scenario to record: commands go down, snapshots come up.

mod command;
mod headless;
mod record;
mod sentence;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

pub use command::{Command, Knob};
pub use headless::{Ended, Stop, headless};
pub use record::{ArmRecord, Machine, NodeRecord, Record, Timeouts, Verdict};
pub use sentence::sentence;

use crate::lab::LabError;
use crate::metrics::Snapshot;
pub use crate::model::Held;
use crate::scenario::Scenario;

/// What a run needs besides its scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The redis-server or valkey-server to start; none: the first on PATH.
    pub server_bin: Option<PathBuf>,
    /// The lockstorm executable that becomes the keeper; none: this program.
    pub keeper: Option<PathBuf>,
}

/// A run under way on a thread of its own.
#[derive(Debug)]
pub struct RunHandle {
    /// Commands for the run.
    pub commands: mpsc::UnboundedSender<Command>,
    /// The newest snapshot; ten new ones a second at most. The last one says `Finished` or `Failed`.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    thread: std::thread::JoinHandle<Result<Record, RunError>>,
}

/// Why a run ended without a record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab did not start.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Something else, said in one line.
    #[error("{0}")]
    Other(String),
}

/// Starts a run on a thread of its own.
#[must_use]
pub fn start(scenario: Scenario, options: RunOptions) -> RunHandle {
    todo!()
}

impl RunHandle {
    /// Waits for the end of the run and of its lab: nothing of it is left when this returns.
    ///
    /// # Errors
    /// Whatever kept the run from its record.
    pub fn finish(self) -> Result<Record, RunError> {
        match self.thread.join() {
            Ok(result) => result,
            Err(_) => Err(RunError::Other("the run's thread panicked; this is a bug".to_owned())),
        }
    }
}
