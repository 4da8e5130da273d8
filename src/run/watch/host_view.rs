//! What is shown of the hosts.

use std::time::{Duration, Instant};

use super::lab::LiveLab;
use crate::collect::arm::Arm;
use crate::show::snapshot::{HostView, OldMaster};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::Voter;
use lockstorm_lab::{NodeName, Role};

/// An old master that has granted a lock within this time still grants some.
const RECENT: Duration = Duration::from_secs(1);

impl LiveLab {
    /// What is shown of all hosts, in order.
    pub fn host_views(&self, arms: &[Arm], now: Instant) -> Vec<HostView> {
        let hosts = (0..self.spec.hosts).map(HostId::from_index);
        hosts.map(|host| self.host_view(host, arms, now)).collect()
    }

    fn host_view(&self, id: HostId, arms: &[Arm], now: Instant) -> HostView {
        let conditions = self.handle.state(id).conditions;
        let own = || self.handle.names().filter(|name| name.host == Some(id));
        let is_up = |name: &NodeName| self.handle.node_state(*name).is_up();
        let affected: Vec<Role> = match own().any(|name| is_up(&name)) {
            true => own().filter(|name| !is_up(name)).map(|name| name.role).collect(),
            false => Vec::new(),
        };
        let answers_by = |role| self.node_answers(id, role);
        let is_old = self.roles.is_old_master(id);
        let is_master = self.roles.masters().any(|master| master == id) && !is_old;
        let is_only_voter = |arm: &&Arm| match arm.voters[..] {
            [Voter::Host(host)] => host == id,
            [Voter::Master] => is_master,
            _ => false,
        };
        let [lock_node, replicated] = [Role::Lock, Role::Replicated].map(|role| NodeName::on(id, role));
        let stats = self.stats.get(&lock_node).filter(|_| answers_by(Role::Lock));
        HostView {
            id,
            conditions: conditions.timed(|since| now.saturating_duration_since(*since)),
            affected,
            port: self.handle.address(lock_node).map_or(0, |address| address.port()),
            stats: stats.copied(),
            role: self.roles.of(replicated).filter(|_| answers_by(Role::Replicated)),
            old_master: (is_old && answers_by(Role::Replicated)).then(|| {
                let servers = self.handle.servers(replicated);
                let since = now.checked_sub(RECENT).unwrap_or(now);
                let mut arms = arms.iter();
                OldMaster {
                    still_grants: arms.any(|arm| arm.collector.was_granted_by(&servers, since)),
                }
            }),
            cluster_masters: self.cluster.masters_on(id).filter(|_| conditions.answers()),
            leads_etcd: (self.spec.etcd && answers_by(Role::Etcd)).then(|| self.etcd_leader == Some(id)),
            behind: self.roles.offsets.behind(id).filter(|_| answers_by(Role::Replicated)),
            single_arms: arms
                .iter()
                .filter(is_only_voter)
                .map(|arm| arm.spec.name.clone())
                .collect(),
            log: self.logs.of(id),
        }
    }
}
