//! What the run makes of the roles of replicated nodes, and of new masters.

use std::net::SocketAddr;
use std::time::Instant;

use tokio::sync::mpsc;

use crate::engine::state::Engine;
use crate::watch::cluster_watch;
use crate::watch::master_watch::{self, Look};
use crate::watch::new_master::{ArmLocks, NewMaster};
use lockstorm_data::metrics::units::counted;
use lockstorm_data::model::{EventKind, HostId};
use lockstorm_data::scenario::{ArmSpec, LockNodes, Topology};
use lockstorm_lab::NodeName;

impl Engine {
    /// Watches the roles of the replicated nodes, if an arm uses them.
    pub(crate) fn watch_masters(&self) -> mpsc::Receiver<Look> {
        let (looks, seen) = mpsc::channel(1);
        let arms = self.locks_of(|spec| spec.topology == Topology::Replicated);
        if !arms.is_empty() {
            tokio::spawn(master_watch::watch(self.lab.handle.clone(), arms, looks));
        }
        seen
    }

    /// Watches the masters of the cluster, if an arm's lock is on it.
    pub(crate) fn watch_cluster(&self) -> mpsc::Receiver<NewMaster> {
        let (new_masters, seen) = mpsc::channel(1);
        let arms = self.locks_of(|spec| spec.nodes() == LockNodes::Cluster);
        if !arms.is_empty() {
            tokio::spawn(cluster_watch::watch(self.lab.handle.clone(), arms, new_masters));
        }
        seen
    }

    /// The held locks of these arms.
    fn locks_of(&self, are_these: impl Fn(&ArmSpec) -> bool) -> Vec<ArmLocks> {
        let arms = self.arms.iter().enumerate();
        arms.filter(|(_, arm)| are_these(&arm.spec))
            .map(|(arm, _)| {
                let servers = self.swarm.servers.iter();
                (arm, servers.filter_map(|server| server.held_locks(arm)).collect())
            })
            .collect()
    }

    /// Takes the newest roles. Nobody orders a failover: each is an event, and so is a second master.
    pub(crate) fn note_masters(&mut self, look: Look) {
        let changes = self.lab.take_roles(look.roles);
        for master in look.new_masters {
            self.lab.new_master = master.node.host;
            let has = master.node.host.map(|host| format!("{host} has the master now"));
            let text = has
                .into_iter()
                .chain(self.reigns(&master))
                .collect::<Vec<_>>()
                .join("; ");
            if let Some(host) = master.node.host {
                self.log.push_at(master.writable, EventKind::Failover { host }, text);
            }
        }
        for host in changes.demoted {
            self.demote(host);
        }
        for host in changes.masters {
            let others = self.lab.masters().filter(|other| *other != host);
            let others: Vec<String> = others.map(|other| other.to_string()).collect();
            if !others.is_empty() {
                let others = others.join(", ");
                let text = format!("{host} says that it has the master, and so does {others}");
                self.log.push(EventKind::Warning, text);
            }
        }
    }

    /// Notes that this host's node was the master until now. Whoever stays with it is refused from now on.
    fn demote(&mut self, host: HostId) {
        let now = Instant::now();
        for arm in self
            .arms
            .iter_mut()
            .filter(|arm| arm.spec.topology == Topology::Replicated)
        {
            arm.collector.outage_from(now, None);
        }
        let text = format!("{host} has the master no longer: its node is a replica now");
        self.log.push_at(now, EventKind::Demoted { host }, text);
    }

    /// Takes a node that has taken over slots of the cluster. The event of that comes from what all its nodes say.
    pub(crate) fn note_cluster_master(&mut self, master: &NewMaster) {
        for lost in self.reigns(master) {
            self.log.push_at(master.writable, EventKind::Warning, lost);
        }
    }

    /// Notes a new master: from now on the others must grant nothing. Returns what it lacks in words.
    fn reigns(&mut self, master: &NewMaster) -> Vec<String> {
        let lab = &self.lab.handle;
        let others = master.others.iter().flat_map(|node: &NodeName| lab.servers(*node));
        let (servers, others): (_, Vec<SocketAddr>) = (lab.servers(master.node), others.collect());
        let mut lost = Vec::new();
        for lacks in &master.lacks {
            let arm = &mut self.arms[lacks.arm];
            arm.collector.reign(master.writable, &servers, &others);
            arm.new_masters += 1;
            arm.lost_at_failover += lacks.lost as u64;
            if lacks.is_unknown {
                let name = arm.spec.name.clone();
                self.doubt(
                    lacks.arm,
                    format!(
                        "{} became a master and did not answer which locks of \"{name}\" it has",
                        master.node
                    ),
                );
            } else if lacks.lost > 0 {
                let of = counted(lacks.held as u64, "lock", "locks");
                lost.push(format!("{} of {of} of \"{}\" are not there", lacks.lost, arm.spec.name));
            }
        }
        lost
    }
}
