//! Waiting for a condition: no test asserts how long something takes.

use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

/// How long anything may take on the slowest machine before a test gives up.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until `condition` holds, on the thread of the test.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TEST_TIMEOUT, "not within {TEST_TIMEOUT:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `condition` holds, while other tasks go on.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < TEST_TIMEOUT, "not within {TEST_TIMEOUT:?}: {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// A runtime like an app server's.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// What `future` gives; the test fails if that takes too long.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(TEST_TIMEOUT, future).await;
    result.unwrap_or_else(|_| panic!("not within {TEST_TIMEOUT:?}: {what}"))
}
