//! A lock on a quorum of independent nodes, as one kind of lock. Over a single node it is `SET NX PX` with
//! compare-and-delete.

use std::{sync::Arc, time::Duration};

use super::lock::QuorumLock;
use crate::{
    AcquireOptions, Gauges, Nodes, Wait,
    acquire::{Kind, Missed},
    clock,
    held::Owned,
    node::wire,
    protocol::{Time, free_after, quorum},
    waiting::subscriptions::Subscriptions,
};

/// Locks of which more than half of these nodes must have the key.
#[derive(Debug)]
pub(crate) struct Quorum(pub(crate) Nodes);

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
    ) -> Result<Owned<QuorumLock>, Missed> {
        gauges.attempt();
        // Those who wait in line tell each other of the release.
        let subscriptions = (options.wait == Wait::Queue).then(|| Arc::clone(subscriptions));
        let lock = QuorumLock::ask(&self.0, key, options, subscriptions, gauges, now);
        match lock.decided(now, limit).await {
            None => Ok(lock),
            Some(missed) => Err(missed),
        }
    }

    async fn remaining(&self, key: &str, missed: &Missed, until: Time) -> Option<Duration> {
        let until = until.min(clock::now() + self.0.node_timeout());
        let answers = self.0.ask(missed.held, &wire::pttl(key), until, |_| false).await;
        let remaining = answers
            .into_iter()
            .filter_map(|answer| time_left(answer?.ok()?))
            .collect();
        free_after(remaining, quorum(self.0.len()).saturating_sub(missed.votes))
    }
}

/// A `PTTL` reply, rounded up: the key is still there in its last millisecond. A key that never expires is no use.
fn time_left(millis: i64) -> Option<Duration> {
    match millis {
        -2 => Some(Duration::ZERO),
        millis => Some(Duration::from_millis(u64::try_from(millis).ok()? + 1)),
    }
}
