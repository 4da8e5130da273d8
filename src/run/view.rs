//! What a run shows of itself: the snapshot.

use std::sync::Arc;
use std::time::Instant;

use super::engine::Engine;
use super::knobs;
use crate::lab::HostState;
use crate::lock::NodeAddress;
use crate::metrics::{ArmView, HostStatus, HostView, NodeFigures, Phase, ServerView, Snapshot};
use crate::model::{Event, HostId, ServerId};
use crate::scenario::{ArmSpec, LockKind, Scenario};

/// A snapshot of a run that has not begun: nothing is up, nothing is counted.
pub(super) fn first(scenario: &Arc<Scenario>) -> Snapshot {
    Snapshot {
        number: 0,
        scenario: scenario.clone(),
        server: "".into(),
        phase: Phase::SetUp("starting".to_owned()),
        elapsed: 0.0,
        hosts: Vec::new(),
        servers: Vec::new(),
        arms: Vec::new(),
        events: Arc::default(),
        knobs: knobs::of(scenario),
        scheduled: Vec::new(),
        patience_left: None,
        partial: Vec::new(),
    }
}

impl Engine {
    pub(super) fn snapshot(&self, events: Arc<Vec<Event>>) -> Snapshot {
        let now = Instant::now();
        Snapshot {
            number: self.number,
            scenario: self.scenario.clone(),
            server: self.server_name.clone(),
            phase: self.phase.clone(),
            elapsed: self.elapsed(),
            hosts: (0..self.scenario.lab.hosts)
                .map(|host| self.host_view(HostId::from_index(host), now))
                .collect(),
            servers: self
                .servers
                .iter()
                .enumerate()
                .map(|(index, server)| {
                    let (state, since) = server.status();
                    ServerView {
                        id: ServerId::from_index(index),
                        state,
                        since: now.saturating_duration_since(since),
                    }
                })
                .collect(),
            arms: (0..self.arms.len()).map(|arm| self.arm_view(arm)).collect(),
            events,
            knobs: self.knobs,
            scheduled: self.faults.schedule.scheduled(),
            patience_left: self.patience.map(|until| until.saturating_duration_since(now)),
            partial: self.all_missing(),
        }
    }

    fn host_view(&self, id: HostId, now: Instant) -> HostView {
        let (state, since) = match self.lab.state(id) {
            HostState::Up { since } => (HostStatus::Up, since),
            HostState::Paused { since } => (HostStatus::Paused, since),
            HostState::Down { why, since } => (HostStatus::Down(why.to_string()), since),
        };
        let on_it = |arm: &&Arc<ArmSpec>| arm.lock == LockKind::Single && arm.host == id;
        let stats = self
            .node_stats
            .get(id.index())
            .cloned()
            .flatten()
            .filter(|_| state == HostStatus::Up);
        HostView {
            id,
            since: now.saturating_duration_since(since),
            port: self.lab.nodes().get(id.index()).map_or(0, NodeAddress::port),
            stats: stats.map(|stats| NodeFigures {
                ops_per_sec: stats.ops_per_sec,
                keys: stats.keys,
                used_memory: stats.used_memory,
                ping: stats.ping,
            }),
            single_arms: self
                .arms
                .iter()
                .map(|arm| &arm.spec)
                .filter(on_it)
                .map(|arm| arm.name.clone())
                .collect(),
            state,
        }
    }

    fn arm_view(&self, index: usize) -> ArmView {
        let arm = &self.arms[index];
        let (figures, collector) = (self.figures(index), &arm.collector);
        ArmView {
            name: arm.spec.name.clone(),
            label: arm.spec.label(),
            series: collector.series(),
            trace: collector.trace(),
            votes: collector.newest_votes(),
            trouble: collector.trouble().cloned(),
            sold_out: collector.books().sold_out,
            done: self.is_done(index),
            finish: figures.finish,
            live: self.live(index),
            doubt: self.doubt_of(index, &figures),
            figures,
        }
    }
}
