//! Waiting for a condition: no test asserts how long something takes.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take on the slowest machine before a test gives up.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TEST_TIMEOUT, "not within {TEST_TIMEOUT:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
