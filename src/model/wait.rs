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
    /// Wait until the key's remaining TTL has passed, then try again.
    UntilExpiry,
}
