//! The kind of lock that a quorum of independent nodes keeps. On a single node this is `SET NX PX` with compare-and-delete.

use std::sync::Arc;
use std::time::Duration;

use super::lock::QuorumLock;
use crate::acquire::{FailedAttempt, Kind};
use crate::clock;
use crate::gauges::Gauges;
use crate::held::Owned;
use crate::node::wire;
use crate::nodes::Nodes;
use crate::options::AcquireOptions;
use crate::protocol::Wait;
use crate::protocol::{Time, free_after, quorum};
use crate::refusal::Refusal;
use crate::waiting::subscriptions::Subscriptions;

/// Locks whose key more than half of these nodes must have.
#[derive(Debug)]
pub(crate) struct Quorum(pub(crate) Nodes);

impl Quorum {
    /// Refuses a key that is too long to be sent.
    pub(crate) fn check(&self, key: &str) -> Result<(), Refusal> {
        let (length, most) = (key.len(), self.0.longest_key());
        if length > most {
            return Err(Refusal::KeyTooLong { length, most });
        }
        Ok(())
    }
}

impl Kind for Quorum {
    type Held = QuorumLock;

    async fn attempt(
        &self,
        key: &str,
        options: &AcquireOptions,
        subscriptions: &Arc<Subscriptions>,
        gauges: &Arc<Gauges>,
        now: Time,
        limit: Time,
    ) -> Result<Owned<QuorumLock>, FailedAttempt> {
        gauges.attempt();
        // Only waiters in line subscribe to releases, so only they announce theirs.
        let subscriptions = (options.wait == Wait::Queue).then(|| Arc::clone(subscriptions));
        let lock = QuorumLock::ask(&self.0, key, options, subscriptions, gauges, now);
        match lock.decided(now, limit).await {
            None => Ok(lock),
            Some(failed) => Err(failed),
        }
    }

    async fn remaining(&self, key: &str, failed: &FailedAttempt, until: Time) -> Option<Duration> {
        let until = until.min(clock::now() + self.0.node_timeout());
        let answers = self.0.ask(failed.held, &wire::pttl(key), until, |_| false).await;
        let remaining = answers
            .into_iter()
            .filter_map(|answer| time_left(answer?.ok()?))
            .collect();
        free_after(remaining, quorum(self.0.len()).saturating_sub(failed.votes))
    }
}

/// The remaining time in a `PTTL` reply, rounded up, since the key still exists in its last millisecond. `None` for a key
/// that never expires.
fn time_left(millis: i64) -> Option<Duration> {
    match millis {
        -2 => Some(Duration::ZERO),
        millis => Some(Duration::from_millis(u64::try_from(millis).ok()? + 1)),
    }
}
