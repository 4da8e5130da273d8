//! Labs that are kept are started one at a time, so that there is only one, and who takes it down sees one that is coming up.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::error::KeptError;
use crate::directory::start_lock::StartLock;

/// How often it is looked whether a start has come to its end.
const LOOK: Duration = Duration::from_millis(10);
/// How long another process may have the lock before somebody is told: who only looks, or tidies up, has it for a moment.
const MOMENT: Duration = Duration::from_millis(200);
/// How long a start may take: an image may have to be pulled for it.
const LONGEST: Duration = Duration::from_mins(10);

/// The turn to start a lab, until this is dropped. `waiting` is called if somebody else starts one.
///
/// # Errors
/// The other one takes too long, or the directory of all labs can't be used.
pub fn turn(waiting: impl FnOnce()) -> Result<StartLock, KeptError> {
    poll(StartLock::take, waiting)
}

/// Waits until no lab is being started. `waiting` is called if one is.
///
/// # Errors
/// Those of [`turn`].
pub fn wait_for_start(waiting: impl FnOnce()) -> Result<(), KeptError> {
    let is_over = || Ok((!StartLock::is_taken()?).then_some(()));
    poll(is_over, waiting)
}

fn poll<T>(mut look: impl FnMut() -> io::Result<Option<T>>, waiting: impl FnOnce()) -> Result<T, KeptError> {
    let start = Instant::now();
    let mut waiting = Some(waiting);
    loop {
        let found = look().map_err(|error| KeptError::system("look for labs", error))?;
        if let Some(found) = found {
            return Ok(found);
        }
        if start.elapsed() > LONGEST {
            return Err(KeptError::Failed(format!(
                "a lab has been starting for {LONGEST:?} and is not up: is the `lockstorm lab up` that starts it stopped? End that first, \
                 and try again"
            )));
        }
        if start.elapsed() > MOMENT
            && let Some(waiting) = waiting.take()
        {
            waiting();
        }
        thread::sleep(LOOK);
    }
}
