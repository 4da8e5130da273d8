//! Makes snapshots of a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::collect::outlasted;
use crate::engine::knobs;
use crate::engine::state::Engine;
use crate::show::snapshot::{ArmView, HostView, NodeFigures, OldMaster, Phase, ServerView, Snapshot};
use lockstorm_data::model::{Event, HostId, ServerId};
use lockstorm_data::scenario::{ArmSpec, Scenario, Voter};
use lockstorm_lab::{NodeName, Role};

/// A snapshot of a run that has not begun: nothing is up, and nothing is counted.
pub(crate) fn first(scenario: &Arc<Scenario>) -> Snapshot {
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
        caption: None,
        knobs: knobs::of(scenario),
        scheduled: Vec::new(),
        gives_up_in: None,
        partial: Vec::new(),
    }
}

impl Engine {
    pub(crate) fn snapshot(&self, events: Arc<Vec<Event>>) -> Snapshot {
        let now = Instant::now();
        let with_nodes = self.arms.iter().filter(|arm| arm.spec.lock.uses_nodes());
        let ttls = outlasted::ttls(with_nodes.map(|arm| self.swarm.live_settings.ttl(arm.spec.ttl)));
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
            arms: (0..self.arms.len()).map(|arm| self.arm_view(arm, &ttls)).collect(),
            events,
            caption: self.stage.caption.clone(),
            knobs: self.knobs,
            scheduled: self.faults.schedule.scheduled(),
            gives_up_in: self.stage.gives_up_at.map(|until| until.saturating_duration_since(now)),
            partial: self.all_missing(),
        }
    }

    /// What this host's replicated node is, if it is an old master.
    fn old_master(&self, id: HostId, now: Instant) -> OldMaster {
        const RECENT: Duration = Duration::from_secs(1);
        let servers = self.lab.handle.servers(NodeName::on(id, Role::Replicated));
        let since = now.checked_sub(RECENT).unwrap_or(now);
        OldMaster {
            still_grants: self
                .arms
                .iter()
                .any(|arm| arm.collector.was_granted_by(&servers, since)),
        }
    }

    fn host_view(&self, id: HostId, now: Instant) -> HostView {
        let conditions = self.lab.handle.state(id).conditions;
        let is_master = self.lab.masters().any(|master| master == id) && !self.lab.is_old_master(id);
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
            old_master: self
                .lab
                .is_old_master(id)
                .then(|| self.old_master(id, now))
                .filter(|_| conditions.answers()),
            cluster_masters: self.lab.cluster.masters_on(id).filter(|_| conditions.answers()),
            behind: self.lab.offsets.behind(id).filter(|_| conditions.answers()),
            single_arms: self
                .arms
                .iter()
                .map(|arm| &arm.spec)
                .filter(on_it)
                .map(|arm| arm.name.clone())
                .collect(),
        }
    }

    fn arm_view(&self, index: usize, ttls: &[Duration]) -> ArmView {
        let arm = &self.arms[index];
        let (figures, collector) = (self.figures(index), &arm.collector);
        ArmView {
            name: arm.spec.name.clone(),
            label: arm.spec.label(),
            series: collector.series(),
            recent_tenths: collector.recent_tenths(),
            votes: collector.newest_votes(),
            lacking: collector.lacking().to_vec(),
            outlasted: collector.outlasted(ttls),
            done: self.swarm.is_done(index),
            finish: figures.finish,
            live: self.live(index),
            doubt: self.doubt_of(index, &figures),
            figures,
        }
    }
}
