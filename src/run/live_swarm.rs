use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::swarm::{AppServer, Load};
use crate::workload::LiveSettings;

/// The app servers of a run and their load.
pub(super) struct LiveSwarm {
    pub servers: Vec<AppServer>,
    pub load: Load,
    /// Cancelled when the run must end: acquires that wait are given up, and so is work that only lets simulated time pass.
    pub hurry: CancellationToken,
    /// What can be turned while it works.
    pub live_settings: Arc<LiveSettings>,
}

impl LiveSwarm {
    /// Whether an arm has begun all its requests and no worker is left at one.
    pub fn is_done(&self, arm: usize) -> bool {
        let idle = |(index, server): (usize, &AppServer)| match self.load.busy(index, arm) {
            // What a killed app server had is dropped.
            Some(busy) => busy == 0 || server.is_dead(),
            None => server.active(arm) == 0,
        };
        self.load.exhausted(arm) && self.servers.iter().enumerate().all(idle)
    }

    /// Locks of an arm that are held now, and those of them with fewer votes than there are nodes: read from the locks
    /// themselves.
    pub fn held(&self, arm: usize) -> (u64, u64) {
        let held = self.servers.iter().map(|server| server.held(arm));
        held.fold((0, 0), |sum, (holding, partial)| {
            (sum.0 + holding as u64, sum.1 + partial as u64)
        })
    }

    /// For how long the oldest acquire of an arm has been waiting; app servers that are dead have none.
    pub fn oldest_wait(&self, arm: usize, now: Instant) -> Option<Duration> {
        let since = self.servers.iter().filter_map(|server| server.oldest_wait(arm)).min()?;
        Some(now.saturating_duration_since(since))
    }

    /// Attempts at an arm's lock that failed for lack of nodes.
    pub fn failed_attempts(&self, arm: usize) -> u64 {
        self.servers.iter().map(|server| server.failed_attempts(arm)).sum()
    }
}
