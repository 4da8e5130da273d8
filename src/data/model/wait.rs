use std::time::Duration;

use lockstorm_lock::Wait;
use serde::{Deserialize, Serialize};

use super::in_us;

/// How [`Wait`] is written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Wait", rename_all = "kebab-case")]
pub(crate) enum WaitInUs {
    /// One attempt.
    FailFast,
    /// More attempts.
    Retry {
        /// Attempts after the first.
        retries: u32,
        /// The least time between two attempts.
        #[serde(rename = "delay_us", with = "in_us")]
        delay: Duration,
        /// The most that is added to it.
        #[serde(rename = "jitter_us", with = "in_us")]
        jitter: Duration,
    },
    /// Wait in line.
    Queue,
}
