//! A run without a console: snapshots go to whoever shows progress, signals become commands.

use std::io;
use std::thread;

use tokio::select;
use tokio::sync::oneshot;

use super::snapshot::Snapshot;
use super::{Command, Record, RunError, RunHandle, RunOptions, Stop, Stops};
use crate::scenario::Scenario;

/// How a headless run ended.
#[derive(Debug)]
pub enum Ended {
    /// With its record. By a signal the run was cut short, but drained and counted all the same.
    Finished(Box<Record>, Option<Stop>),
    /// Without a record: by a signal before the load began, or at once by a third signal. The keeper cleans up when this
    /// process ends.
    Abandoned(Stop),
}

/// Runs a scenario to its end and shows each snapshot on the way. The first SIGINT, SIGTERM, SIGHUP or
/// SIGQUIT ends the load, the second one waits for no worker any more, the third one not even for the record.
///
/// # Errors
/// Whatever kept the run from its record.
pub fn headless(scenario: Scenario, options: RunOptions, show: impl FnMut(&Snapshot)) -> Result<Ended, RunError> {
    let failed = |error: io::Error| RunError::Other(format!("cannot listen for signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    runtime.block_on(async {
        // Before the run starts, so that no signal finds it unprotected.
        let stops = Stops::listen().map_err(failed)?;
        follow(super::start(scenario, options), show, stops).await
    })
}

async fn follow(handle: RunHandle, mut show: impl FnMut(&Snapshot), mut stops: Stops) -> Result<Ended, RunError> {
    let commands = handle.commands.clone();
    let mut snapshots = handle.snapshots.clone();
    // A thread of our own and not the runtime's: the runtime would wait for it even when we no longer want to.
    let (done, mut end) = oneshot::channel();
    thread::spawn(move || {
        // Nobody listens any more after a third signal.
        let _ = done.send(handle.finish());
    });
    // The first signal says how the run ended; the others only say how soon.
    let (mut asked, mut times) = (None, 0);
    loop {
        let stop = select! {
            result = &mut end => {
                // The sender is only dropped unused if `finish` panics, and it catches the panics of the run.
                let lost = |_| Err(RunError::Other("the run was lost; this is a bug".to_owned()));
                return match (result.unwrap_or_else(lost), asked) {
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
