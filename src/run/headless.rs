//! A run without a console: snapshots go to a function that shows progress, and signals become commands.

use std::thread;

use tokio::select;
use tokio::sync::oneshot;

use crate::show::snapshot::Snapshot;
use lockstorm_base::{Stop, Stops};

use crate::close::record::Record;
use crate::error::RunError;
use crate::handle::RunHandle;
use crate::options::RunOptions;
use crate::orders::command::Command;
use lockstorm_data::scenario::Scenario;

/// How a headless run ended.
#[derive(Debug)]
pub enum Ended {
    /// The run made its record. After a signal it was cut short, but drained and counted all the same.
    Finished(Box<Record>, Option<Stop>),
    /// The run made no record: a signal came before the load began, or it was the third one. The keeper cleans up when
    /// this process ends.
    Abandoned(Stop),
}

/// Runs a scenario to its end and passes each snapshot to `show`. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the
/// load; after the second, the run waits for no worker; after the third, not even for the record.
///
/// # Errors
/// Why the run made no record.
pub fn headless(scenario: Scenario, options: RunOptions, show: impl FnMut(&Snapshot)) -> Result<Ended, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Signals)?;
    runtime.block_on(async {
        // Before the run starts, so that no signal ends the process with the run under way.
        let stops = Stops::listen().map_err(RunError::Signals)?;
        follow(crate::handle::start(scenario, options), show, stops).await
    })
}

async fn follow(handle: RunHandle, mut show: impl FnMut(&Snapshot), mut stops: Stops) -> Result<Ended, RunError> {
    let commands = handle.commands.clone();
    let mut snapshots = handle.snapshots.clone();
    // A thread of our own and not one of the runtime's: the runtime would wait for it even after a third signal.
    let (done, mut end) = oneshot::channel();
    thread::spawn(move || {
        // After a third signal nobody listens any more.
        let _ = done.send(handle.finish());
    });
    // The first signal says how the run ended; the others only make it end sooner.
    let (mut asked, mut times) = (None, 0);
    loop {
        let stop = select! {
            result = &mut end => {
                // The sender is dropped unused only if `finish` panics, and it catches the panics of the run.
                return match (result.unwrap_or(Err(RunError::Lost)), asked) {
                    (Err(RunError::Stopped), Some(stop)) => Ok(Ended::Abandoned(stop)),
                    (Err(error), _) => Err(error),
                    (Ok(record), _) => Ok(Ended::Finished(Box::new(record), asked)),
                };
            }
            Ok(()) = snapshots.changed() => {
                let snapshot = snapshots.borrow_and_update().clone();
                show(&snapshot);
                continue;
            }
            stop = stops.next() => stop,
        };
        asked.get_or_insert(stop);
        times += 1;
        if times > 2 {
            return Ok(Ended::Abandoned(stop));
        }
        // A run that has already ended takes no commands, and needs none.
        let _ = commands.send(Command::Stop);
    }
}
