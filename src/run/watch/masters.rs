//! What arms make of the roles of replicated nodes, and of new masters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::cluster_watch;
use super::lab::LiveLab;
use super::lacks::{ArmLocks, lost_keys};
use super::master_watch::{self, Look};
use super::new_master::NewMaster;
use super::zombies::{self, Told, Watched};
use crate::collect::arm::Arm;
use crate::collect::live_swarm::LiveSwarm;
use crate::show::events::EventLog;
use crate::show::notice::Notice;
use lockstorm_base::monotonic_ns;
use lockstorm_data::facts::{ArmConsequence, Caveat, EventKind};
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::{ArmSpec, LockKind, LockNodes, Topology, WorkloadSpec};
use lockstorm_judge::law::Takeover;
use lockstorm_lab::NodeName;

fn is_replicated(arm: &Arm) -> bool {
    arm.spec.topology == Topology::Replicated
}

/// The held locks of some of the arms.
pub(crate) fn locks_of(arms: &[Arm], swarm: &LiveSwarm, are_these: impl Fn(&Arm) -> bool) -> Vec<ArmLocks> {
    let arms = arms.iter().filter(|arm| are_these(arm));
    arms.map(|arm| {
        let held = swarm.servers.iter().map(|server| server.held_locks(arm.index));
        (arm.index, held.collect())
    })
    .collect()
}

impl LiveLab {
    /// Watches the roles of the replicated nodes, if an arm uses them.
    pub fn watch_masters(&self, arms: &[Arm], swarm: &LiveSwarm) -> mpsc::Receiver<Look> {
        let (looks, seen) = mpsc::channel(1);
        let arms = locks_of(arms, swarm, is_replicated);
        if !arms.is_empty() {
            tokio::spawn(master_watch::watch(Arc::clone(&self.handle), arms, looks));
        }
        seen
    }

    /// Watches the masters of the cluster, if an arm's lock is on it.
    pub fn watch_cluster(&self, arms: &[Arm], swarm: &LiveSwarm) -> mpsc::Receiver<NewMaster> {
        let (new_masters, seen) = mpsc::channel(1);
        let arms = locks_of(arms, swarm, |arm| arm.spec.nodes() == LockNodes::Cluster);
        if !arms.is_empty() {
            tokio::spawn(cluster_watch::watch(Arc::clone(&self.handle), arms, new_masters));
        }
        seen
    }

    /// Watches what the keys on the nodes tell, if the servers are ours.
    pub fn watch_keys(&self, arms: &[Arm], swarm: &LiveSwarm, workload: &WorkloadSpec) -> mpsc::Receiver<Vec<Told>> {
        let (told, seen) = mpsc::channel(1);
        let watched = |locks: ArmLocks| {
            let spec = &arms[locks.0].spec;
            let key = |name: &str| spec.key(self.handle.key_prefix(), name);
            // What another program writes as a token is not known.
            let is_by_name = spec.lock == LockKind::Client;
            let names = workload.about().lock_names().filter(|_| is_by_name);
            Watched {
                prefix: key(""),
                is_by_name,
                locks_by_name: names.map(|name| key(&name)).collect(),
                ttl: spec.ttl,
                locks,
            }
        };
        // A key that expires between two looks is not seen; the TTL of another program's keys is its own.
        let can_be_seen = |spec: &ArmSpec| spec.ttl > zombies::EVERY || spec.lock == LockKind::Client;
        let of_arms = locks_of(arms, swarm, |arm| arm.spec.lock.uses_nodes() && can_be_seen(&arm.spec));
        let patience = arms
            .iter()
            .map(|arm| arm.spec.node_timeout * 3)
            .max()
            .unwrap_or_default();
        if self.spec.are_ours() && !of_arms.is_empty() {
            let watched = of_arms.into_iter().map(watched).collect();
            tokio::spawn(zombies::watch(Arc::clone(&self.handle), patience, watched, told));
        }
        seen
    }

    /// Takes in the newest roles. Nobody orders a failover: each is an event, and so is a second master.
    pub fn take_roles(&mut self, look: Look, arms: &mut [Arm], log: &EventLog) -> Vec<Notice> {
        let (changes, mut notices) = (self.roles.take(look.roles), Vec::new());
        for master in look.new_masters {
            self.roles.new_master = master.node.host;
            let (lacks, doubts) = self.takes_over(&master, arms, log);
            notices.extend(doubts);
            if let Some(host) = master.node.host {
                let kind = EventKind::Failover {
                    host,
                    cluster_masters: None,
                    consequences: lacks,
                };
                notices.push(Notice::Event(master.writable, kind));
            }
        }
        for host in changes.demoted {
            let now = Instant::now();
            // Whoever stays with it is refused from now on.
            for arm in arms.iter_mut().filter(|arm| is_replicated(arm)) {
                arm.collector.outage_from(now, None, None, None);
            }
            notices.push(Notice::Event(now, EventKind::Demoted { host }));
        }
        for host in changes.masters {
            let others: Vec<HostId> = self.roles.masters().filter(|other| *other != host).collect();
            if !others.is_empty() {
                notices.push(Notice::Warning(Caveat::TwoMasters { host, others }));
            }
        }
        notices
    }

    /// Takes in a node that has taken over slots of the cluster. The event of that comes from what all its nodes say.
    pub fn take_cluster_master(&self, master: &NewMaster, arms: &mut [Arm], log: &EventLog) -> Vec<Notice> {
        let (lacks, mut notices) = self.takes_over(master, arms, log);
        let warning = |lost| Notice::warning_at(master.writable, Caveat::ClusterMasterLacks { lost });
        notices.extend(lacks.into_iter().map(warning));
        notices
    }

    /// Tells the arms of a new master: from now on the others must grant nothing. Returns what it lacks, and what can't be
    /// known since it did not answer.
    fn takes_over(&self, master: &NewMaster, arms: &mut [Arm], log: &EventLog) -> (Vec<ArmConsequence>, Vec<Notice>) {
        let others = master.others.iter();
        let others: Vec<SocketAddr> = others.flat_map(|node: &NodeName| self.handle.servers(*node)).collect();
        let servers = self.handle.servers(master.node);
        let (mut all, mut doubts) = (Vec::new(), Vec::new());
        for (index, lacks) in &master.lacks {
            let arm = &mut arms[*index];
            let name = &arm.spec.name;
            arm.collector.new_master(master.writable, &servers, &others);
            arm.noted.new_masters += 1;
            // Who stays with the first master sees no other.
            if arm.spec.nodes() != LockNodes::FirstMaster {
                arm.holds.takes_over(Takeover {
                    new: servers.clone(),
                    old: others.clone(),
                    replica: monotonic_ns(master.replica),
                    writable: monotonic_ns(master.writable),
                    lacks: lost_keys(lacks.as_ref()),
                });
            }
            let Some(lacks) = lacks else {
                let (arm, node) = (name.clone(), master.node.to_string());
                doubts.push(Notice::Once(Caveat::NewMasterSilent { arm, node }));
                continue;
            };
            if !lacks.lost.is_empty() {
                let [locks, of] = [lacks.lost.len(), lacks.held].map(|locks| locks as u64);
                let kind = ConsequenceKind::LostAtFailover { locks, of };
                all.push(ArmConsequence {
                    arm: name.clone(),
                    kind,
                });
                arm.noted.lost_at_failover += locks;
                arm.consequence(log.seconds(master.writable), None, kind);
            }
        }
        (all, doubts)
    }
}
