use std::time::Duration;

/// What happens when the lock is not to be had at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Wait {
    /// One attempt.
    FailFast,
    /// More attempts, `delay` plus a random part of `jitter` apart. All of it is bounded by the acquire's timeout.
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
    /// longest asks first, as far as they hear of each other. Bounded by the acquire's timeout.
    Queue,
}
