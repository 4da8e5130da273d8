//! Makes snapshots of a run.

use std::sync::Arc;
use std::time::Instant;

use super::engine::Engine;
use super::knobs;
use super::snapshot::{ArmView, HostView, NodeFigures, Phase, ServerView, Snapshot};
use crate::lab::{NodeName, Role};
use crate::model::{Event, HostId, ServerId};
use crate::scenario::{ArmSpec, Scenario, Voter};

/// A snapshot of a run that has not begun: nothing is up, and nothing is counted.
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
        gives_up_in: None,
        partial: Vec::new(),
    }
}

impl Engine {
    pub(super) fn snapshot(&self, events: Arc<Vec<Event>>) -> Snapshot {
        let now = Instant::now();
        Snapshot {
            number: self.publisher.number + 1,
            scenario: self.scenario.clone(),
            server: self.lab.server_name.clone(),
            phase: self.stage.phase.clone(),
            elapsed: self.elapsed(),
            hosts: (0..self.scenario.lab.hosts)
                .map(|host| self.host_view(HostId::from_index(host), now))
                .collect(),
            servers: self
                .swarm
                .servers
                .iter()
                .enumerate()
                .map(|(index, server)| ServerView {
                    id: ServerId::from_index(index),
                    conditions: server.conditions().timed(|since| now.saturating_duration_since(*since)),
                })
                .collect(),
            arms: (0..self.arms.len()).map(|arm| self.arm_view(arm)).collect(),
            events,
            knobs: self.knobs,
            scheduled: self.faults.schedule.scheduled(),
            gives_up_in: self.stage.gives_up_at.map(|until| until.saturating_duration_since(now)),
            partial: self.all_missing(),
        }
    }

    fn host_view(&self, id: HostId, now: Instant) -> HostView {
        let conditions = self.lab.handle.state(id).conditions;
        let is_master = self.lab.masters().any(|master| master == id);
        let on_it = |arm: &&Arc<ArmSpec>| match arm.voters(&self.scenario.lab)[..] {
            [Voter::Host(host)] => host == id,
            [Voter::Master] => is_master,
            _ => false,
        };
        let lock_node = NodeName::on(id, Role::Lock);
        let stats = self.lab.stats.get(&lock_node).filter(|_| conditions.answers());
        HostView {
            id,
            conditions: conditions.timed(|since| now.saturating_duration_since(*since)),
            port: self.lab.handle.address(lock_node).map_or(0, |address| address.port()),
            stats: stats.map(|stats| NodeFigures {
                ops_per_sec: stats.ops_per_sec,
                keys: stats.keys,
                used_memory: stats.used_memory,
                ping: stats.ping,
            }),
            role: self
                .lab
                .roles
                .get(&NodeName::on(id, Role::Replicated))
                .filter(|_| conditions.answers())
                .copied(),
            single_arms: self
                .arms
                .iter()
                .map(|arm| &arm.spec)
                .filter(on_it)
                .map(|arm| arm.name.clone())
                .collect(),
        }
    }

    fn arm_view(&self, index: usize) -> ArmView {
        let arm = &self.arms[index];
        let (figures, collector) = (self.figures(index), &arm.collector);
        ArmView {
            name: arm.spec.name.clone(),
            label: arm.spec.label(),
            series: collector.series(),
            recent_tenths: collector.recent_tenths(),
            votes: collector.newest_votes(),
            lacking: collector.lacking().to_vec(),
            done: self.swarm.is_done(index),
            finish: figures.finish,
            live: self.live(index),
            doubt: self.doubt_of(index, &figures),
            figures,
        }
    }
}
