//! One run from scenario to record: commands go down, snapshots come up.

mod announce;
mod arm;
mod auditor;
mod clock_watch;
mod collector;
mod command;
mod disk_watch;
mod doubt;
mod effect;
mod ending;
mod engine;
mod events;
mod expect;
mod faults;
mod finish;
mod headless;
mod knobs;
mod lab_watch;
mod live;
mod machine;
mod patience;
mod record;
mod sentence;
mod staff;
mod stop;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

pub use command::{Command, Knob};
pub use headless::{Ended, headless};
pub use record::{ArmRecord, Machine, Record, Timeouts, Verdict};
pub use sentence::sentence;
pub use stop::{Stop, Stops, stop_at_once};

use crate::lab::LabError;
use crate::metrics::{Phase, Snapshot};
pub use crate::model::Held;
use crate::needs;
use crate::scenario::Scenario;
use crate::store::StoreError;
use crate::swarm::SwarmError;
use crate::workload::CacheError;

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
    thread: std::io::Result<std::thread::JoinHandle<Result<Record, RunError>>>,
}

/// Why a run ended without a record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab did not start.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// An app server did not start.
    #[error(transparent)]
    Swarm(#[from] SwarmError),
    /// The tables of an arm could not be made.
    #[error("the database of arm \"{0}\": {1}")]
    Store(String, StoreError),
    /// The database could not be reached.
    #[error(transparent)]
    Database(StoreError),
    /// The database can't give as many connections as the scenario needs.
    #[error(
        "the database has {free} connections left and this scenario needs {needed} (app servers × arms × pool + 2 × arms): \
         lower database.pool, or raise max_connections"
    )]
    Connections {
        /// What the scenario needs.
        needed: u64,
        /// What there is.
        free: u64,
    },
    /// The cache node could not be prepared.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// It was stopped before the load began.
    #[error("stopped before the load began")]
    Stopped,
    /// Something else, said in one line.
    #[error("{0}")]
    Other(String),
}

/// Starts a run on a thread of its own. Console, headless run and tests all go through here.
#[must_use]
pub fn start(scenario: Scenario, options: RunOptions) -> RunHandle {
    needs::raise(&needs::of(&scenario));
    let (commands, inbox) = mpsc::unbounded_channel();
    let (publish, snapshots) = watch::channel(Arc::new(view::first(&Arc::new(scenario.clone()))));
    let thread = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| RunError::Other(format!("the run's thread has no runtime: {error}")))?;
        let result = runtime.block_on(engine::run(scenario, options, inbox, publish.clone()));
        // Without waiting for what hangs on its threads: the search for a host's name, a look at a disk.
        runtime.shutdown_background();
        if let Err(error) = &result {
            publish.send_modify(|snapshot| {
                let snapshot = Arc::make_mut(snapshot);
                snapshot.number += 1;
                snapshot.phase = Phase::Failed(error.to_string());
            });
        }
        result
    });
    RunHandle {
        commands,
        snapshots,
        thread,
    }
}

impl RunHandle {
    /// Waits for the end of the run and of its lab: nothing of it is left when this returns.
    ///
    /// # Errors
    /// Whatever kept the run from its record.
    pub fn finish(self) -> Result<Record, RunError> {
        let thread = self
            .thread
            .map_err(|error| RunError::Other(format!("the run's thread could not start: {error}")))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(RunError::Other("the run's thread panicked; this is a bug".to_owned())))
    }
}
