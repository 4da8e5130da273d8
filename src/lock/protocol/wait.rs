use std::time::Duration;

/// What an acquire does when the lock is not free at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Wait {
    /// One attempt.
    FailFast,
    /// More attempts, `delay` plus a random part of `jitter` apart, within the acquire's timeout.
    Retry {
        /// Attempts after the first.
        retries: u32,
        /// The least time between two attempts.
        delay: Duration,
        /// The most that is added to it.
        jitter: Duration,
    },
    /// Wait in line, within the acquire's timeout. The callers of one app server are served first come, first served, and
    /// only the first of them asks the nodes, when the lock is released or expires. Nodes announce the release of locks that
    /// were themselves acquired in this way; other locks are found free when the waiter asks again, every 50 to 100 ms.
    /// Among app servers, the one that has waited longest asks first, as far as they know of each other.
    Queue,
}
