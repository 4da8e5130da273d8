//! How often a run looks at things.

use std::time::Duration;

/// Snapshots come ten times a second.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// Conditions of faults are looked at this often: a lock that is held for a moment must not slip through.
pub(super) const CONDITIONS: Duration = Duration::from_millis(10);
