use std::sync::Arc;
use std::time::{Duration, Instant};

use super::app_server::AppServer;
use super::load::Load;
use crate::workload::{Hurry, LiveSettings};

/// The app servers of a run and their load.
pub(crate) struct LiveSwarm {
    pub servers: Vec<AppServer>,
    pub load: Load,
    /// What is given up when the run must end.
    pub hurry: Hurry,
    /// The settings that can change during a run.
    pub live_settings: Arc<LiveSettings>,
}

impl LiveSwarm {
    /// Whether an arm has begun all its requests and no worker is busy any more.
    pub fn is_done(&self, arm: usize) -> bool {
        let idle = |(index, server): (usize, &AppServer)| match self.load.busy(index, arm) {
            // A killed app server drops its requests.
            Some(busy) => busy == 0 || server.is_dead(),
            None => server.active(arm) == 0,
        };
        self.load.exhausted(arm) && self.servers.iter().enumerate().all(idle)
    }

    /// How many locks of an arm are held now, and how many of them have fewer votes than there are nodes. Read from the
    /// locks themselves.
    pub fn held(&self, arm: usize) -> (u64, u64) {
        let held = self.servers.iter().map(|server| server.held(arm));
        held.fold((0, 0), |sum, (holding, partial)| {
            (sum.0 + holding as u64, sum.1 + partial as u64)
        })
    }

    /// How long the threads of the app servers have stood still so far although nobody paused them, in all.
    pub fn stood_still(&self) -> Duration {
        self.servers.iter().map(AppServer::stood_still).sum()
    }

    /// How long the oldest acquire of an arm has been waiting; dead app servers don't count.
    pub fn oldest_wait(&self, arm: usize, now: Instant) -> Option<Duration> {
        let since = self.servers.iter().filter_map(|server| server.oldest_wait(arm)).min()?;
        Some(now.saturating_duration_since(since))
    }

    /// Attempts at an arm's lock that failed because nodes were missing.
    pub fn failed_attempts(&self, arm: usize) -> u64 {
        self.servers.iter().map(|server| server.failed_attempts(arm)).sum()
    }
}
