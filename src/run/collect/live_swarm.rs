use std::sync::Arc;
use std::time::{Duration, Instant};

use super::totals::{Intakes, Progress};
use crate::show::snapshot::ServerView;
use crate::swarm::{AppServer, Load, Queue};
use crate::workload::{Hurry, LiveSettings};
use lockstorm_base::output::Stream;
use lockstorm_data::metrics::{Figures, NodeLoad};
use lockstorm_data::model::Conditions;
use lockstorm_data::scenario::Voter;
use lockstorm_lab::Lab;
use lockstorm_lock::Gauges;

/// The app servers of a run and their load.
pub(crate) struct LiveSwarm {
    pub servers: Vec<AppServer>,
    pub load: Load,
    /// What is given up when the run must end.
    pub hurry: Hurry,
    /// The settings that can change during a run.
    pub live_settings: Arc<LiveSettings>,
    /// Where the history goes, if there is one.
    pub history: Option<Stream>,
}

impl LiveSwarm {
    /// Whether an arm has begun all its requests and no worker is busy any more.
    pub fn is_done(&self, arm: usize) -> bool {
        let idle = |(index, server): (usize, &AppServer)| match self.load.queue(index, arm).map(Queue::busy) {
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

    /// Fills in what the app servers know of an arm: its locks, and the commands that each of its lock nodes was sent; and what
    /// was due when none was alive.
    pub fn fill(&self, arm: usize, voters: &[Voter], figures: &mut Figures) {
        (figures.holding, figures.partial) = self.held(arm);
        figures.dropped = self.load.dropped();
        let gauges = || self.servers.iter().map(|server| server.gauges(arm));
        figures.attempts = gauges().map(Gauges::attempts).sum();
        let load = |(place, voter): (usize, &Voter)| {
            let mut load = NodeLoad {
                host: voter.host().map(|host| host.0),
                ..NodeLoad::default()
            };
            for sent in gauges().map(|gauges| gauges.sent(place)) {
                load.sets += sent.sets;
                load.extends += sent.extends;
                load.deletes += sent.deletes;
            }
            load
        };
        figures.nodes = voters.iter().enumerate().map(load).collect();
    }

    /// How far an arm has come in so many seconds of the measured part.
    pub fn progress(&self, arm: usize, elapsed: f64) -> Progress {
        let intakes = |(index, server): (usize, &AppServer)| Intakes {
            dealt: self.load.queue(index, arm).map(Queue::dealt),
            killed: server.is_dead(),
        };
        // A tick that no worker could begin before the end was not missed. Where no app server is left, nobody begins anything.
        let is_left = !self.servers.iter().all(AppServer::is_dead);
        let queues = (0..self.servers.len()).filter_map(|server| self.load.queue(server, arm));
        let begun = queues.map(Queue::begun).max().filter(|_| is_left).unwrap_or(u64::MAX);
        Progress {
            elapsed,
            ticks: self.load.ticks().map(|due| due.min(begun)),
            is_done: self.load.all_handed_out(arm) && self.is_done(arm),
            servers: self.servers.iter().enumerate().map(intakes).collect(),
        }
    }

    /// What is shown of the app servers, and of their clients in this lab.
    pub fn views(&self, lab: Option<&Lab>, now: Instant) -> Vec<ServerView> {
        let aged = |conditions: Conditions<Instant>| conditions.timed(|since| now.saturating_duration_since(*since));
        let view = |server: &AppServer| ServerView {
            id: server.id,
            conditions: aged(server.control.conditions()),
            clients: lab.and_then(|lab| lab.guest_conditions(server.id)).map(aged),
        };
        self.servers.iter().map(view).collect()
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
