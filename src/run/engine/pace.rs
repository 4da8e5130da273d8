//! How often a run does its regular work.

use std::time::Duration;

/// How often a snapshot is published.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How often the conditions of faults are checked. It is short so that even a lock that is held for a moment is noticed.
pub(crate) const CONDITIONS: Duration = Duration::from_millis(10);
