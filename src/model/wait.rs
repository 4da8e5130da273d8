use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What happens when the lock is not to be had at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// One attempt.
    FailFast,
    /// More attempts, `delay` plus a random part of `jitter` apart. All of it is bounded by the arm's deadline.
    Retry {
        /// Attempts after the first.
        retries: u32,
        /// The least time between two attempts.
        delay: Duration,
        /// The most that is added to it.
        jitter: Duration,
    },
    /// Wait in line: those of one app server are served first come, first served, and only the first of them asks the
    /// nodes, when the lock is released or expires. Nodes tell of the release of locks that were themselves acquired in
    /// this way; others are found free when they are asked for again, 50 to 100 ms later. Among app servers who has waited
    /// longest asks first, as far as they hear of each other. Bounded by the arm's deadline.
    Queue,
}
