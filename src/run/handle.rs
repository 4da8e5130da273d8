//! A run on a thread of its own.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::close::record::Record;
use crate::engine::play;
use crate::error::RunError;
use crate::needs;
use crate::options::RunOptions;
use crate::orders::command::Command;
use crate::orders::knobs;
use crate::show::snapshot::{Phase, Snapshot};
use crate::show::stage::enter;
use lockstorm_data::scenario::Scenario;

/// A run under way on a thread of its own.
#[derive(Debug)]
pub struct RunHandle {
    /// Commands for the run.
    pub commands: mpsc::UnboundedSender<Command>,
    /// The newest snapshot; at most ten new ones a second. The last one is `Finished` or `Failed`.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    thread: std::io::Result<std::thread::JoinHandle<Result<Record, RunError>>>,
}

/// Starts a run on a thread of its own. The console, the headless run and the tests all use this.
pub fn start(scenario: Scenario, options: RunOptions) -> RunHandle {
    needs::raise(&needs::of(&scenario));
    let (commands, inbox) = mpsc::unbounded_channel();
    let (publish, snapshots) = watch::channel(Arc::new(not_begun(&Arc::new(scenario.clone()))));
    let thread = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RunError::Runtime)?;
        let result = runtime.block_on(play::run(scenario, options, inbox, publish.clone()));
        // Blocking calls may hang (a DNS lookup, a look at a disk), so the runtime does not wait for them.
        runtime.shutdown_background();
        if let Err(error) = &result {
            enter(&publish, Phase::Failed(error.to_string()));
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
    /// Waits for the end of the run and of its lab. When this returns, nothing of the run is left.
    ///
    /// # Errors
    /// Why the run made no record.
    pub fn finish(self) -> Result<Record, RunError> {
        let thread = self.thread.map_err(RunError::Thread)?;
        thread.join().unwrap_or(Err(RunError::Panicked))
    }
}

/// A snapshot of a run that has not begun: nothing is up, and nothing is counted.
#[must_use]
pub fn not_begun(scenario: &Arc<Scenario>) -> Snapshot {
    Snapshot {
        number: 0,
        scenario: Arc::clone(scenario),
        server: "".into(),
        phase: Phase::SetUp("starting".to_owned()),
        elapsed: 0.0,
        hosts: Vec::new(),
        servers: Vec::new(),
        arms: Vec::new(),
        events: Arc::default(),
        caption: None,
        knobs: knobs::of(scenario),
        act: None,
        next: None,
        held: false,
        ends_at: None,
        gives_up_in: None,
        caveats: Vec::new(),
        processor_wait: None,
        used_by_others: None,
        partial: Vec::new(),
    }
}
