use std::time::Duration;

use lockstorm_lock::Wait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_us;

/// How [`Wait`] is written in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
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
        #[schemars(with = "u64")]
        delay: Duration,
        /// The most that is added to it.
        #[serde(rename = "jitter_us", with = "in_us")]
        #[schemars(with = "u64")]
        jitter: Duration,
    },
    /// Wait in line.
    Queue,
}
