//! The servers of a run, as they are now.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::cluster::{Change as ClusterChange, LiveCluster};
use super::log_watch::LogWatch;
use super::processes::{Change, LabWatch, change_elsewhere, outside_change};
use super::roles::Roles;
use crate::collect::arm::Arm;
use crate::show::notice::Notice;
use lockstorm_base::{at_monotonic_us, monotonic_ns};
use lockstorm_data::facts::{Caveat, EventKind};
use lockstorm_data::model::{ClusterNode, Condition, HostId, Seats};
use lockstorm_data::scenario::{LabSpec, LockNodes, Persistence};
use lockstorm_judge::law::{Loss, LostKeys};
use lockstorm_lab::{Lab, ManualWrite, NodeName, NodeStats, Role, ServerBinary};

/// How often nodes are asked for their statistics.
const EVERY: Duration = Duration::from_millis(500);

/// The lab of a run, and its last known state.
pub(crate) struct LiveLab {
    pub handle: Arc<Lab>,
    pub spec: LabSpec,
    /// For example `redis-server 7.0.15`.
    pub server_name: Arc<str>,
    /// Notices changes that nobody ordered.
    processes: LabWatch,
    /// The newest statistics of the lock nodes that answered.
    pub stats: BTreeMap<NodeName, NodeStats>,
    pub(super) logs: LogWatch,
    pub roles: Roles,
    /// The cluster, if there is one.
    pub cluster: LiveCluster,
    /// The host whose member of etcd was elected as the leader last, if there is an etcd.
    pub(super) etcd_leader: Option<HostId>,
    /// How often each node had run commands that delete all keys, and when it was asked.
    flushes: BTreeMap<NodeName, (u64, Instant)>,
    /// What nodes may have lost that went away and came back without an order, or whose keys were deleted from outside; to be taken.
    pub unordered_losses: Vec<Loss>,
    /// Hosts whose nodes died or were paused without an order, since when, and those that are back (`false`); to be taken.
    pub unordered_outages: Vec<(HostId, Instant, bool)>,
}

/// How often nodes have run commands that delete all keys.
pub(crate) struct Flushes {
    /// By node.
    counts: BTreeMap<NodeName, u64>,
    /// When they were asked, and had answered.
    asked: Instant,
    answered: Instant,
}

impl Flushes {
    /// Asks the nodes of ours.
    pub async fn look(lab: &Lab) -> Self {
        let asked = Instant::now();
        let counts = lab.flushes().await;
        Self {
            counts,
            asked,
            answered: Instant::now(),
        }
    }
}

/// What the nodes said when they were polled.
pub(crate) struct Polled {
    stats: BTreeMap<NodeName, NodeStats>,
    flushes: Flushes,
    in_cluster: BTreeMap<NodeName, Option<ClusterNode>>,
    etcd_leader: Option<HostId>,
}

impl LiveLab {
    pub fn new(handle: Arc<Lab>, spec: LabSpec, binary: &ServerBinary) -> Self {
        Self {
            processes: LabWatch::new(&handle),
            server_name: match spec.are_ours() {
                true => binary.to_string().into(),
                false => "servers not ours".into(),
            },
            stats: BTreeMap::new(),
            logs: LogWatch::start(&handle),
            roles: Roles::default(),
            cluster: LiveCluster::default(),
            etcd_leader: None,
            flushes: BTreeMap::new(),
            unordered_losses: Vec::new(),
            unordered_outages: Vec::new(),
            handle,
            spec,
        }
    }

    /// Whether a host answers. One that is paused answers nobody.
    pub fn answers(&self, host: HostId) -> bool {
        self.handle.state(host).conditions.answers()
    }

    /// Whether the node with this role answers on a host, whatever became of the host's other nodes.
    pub fn node_answers(&self, host: HostId, role: Role) -> bool {
        let is_cut_off = self.handle.state(host).conditions.has(Condition::Cut);
        let node = self.handle.node_state(NodeName::on(host, role));
        node.conditions.answers() && !is_cut_off
    }

    /// Which hosts have the master and the replicas.
    pub fn seats(&self) -> Seats {
        self.roles.seats(|host| self.answers(*host))
    }

    /// The host that this server is on.
    pub fn host_of(&self, server: SocketAddr) -> Option<HostId> {
        let mut names = self.handle.names();
        names.find(|name| self.handle.servers(*name).contains(&server))?.host
    }

    /// Whether every host is up and no link is broken.
    pub fn all_is_well(&self) -> bool {
        let mut hosts = (0..self.spec.hosts).map(HostId::from_index);
        hosts.all(|host| self.handle.state(host).is_up()) && self.handle.broken_links().is_empty()
    }

    /// Whether the load has nothing left to run on.
    pub const fn is_gone(&self) -> bool {
        self.processes.keeper_gone
    }

    /// Polls the nodes' statistics and roles, outside the run's loop: a node that hangs must not hang the run.
    pub fn poll(&self) -> mpsc::Receiver<Polled> {
        let (found, polled) = mpsc::channel(1);
        let lab = Arc::clone(&self.handle);
        tokio::spawn(async move {
            loop {
                let (stats, flushes, in_cluster, etcd_leader) =
                    tokio::join!(lab.stats(), Flushes::look(&lab), lab.cluster_roles(), lab.etcd_leader());
                let polled = Polled {
                    stats,
                    flushes,
                    in_cluster,
                    etcd_leader,
                };
                if found.send(polled).await.is_err() {
                    return;
                }
                tokio::time::sleep(EVERY).await;
            }
        });
        polled
    }

    /// Takes in what the nodes said. Nobody orders the failovers of a cluster or the elections of etcd.
    pub fn take(&mut self, polled: Polled) -> Vec<Notice> {
        self.stats = polled.stats;
        let mut flushed = self.take_flushes(polled.flushes);
        let changes = self.cluster.take(&polled.in_cluster);
        let notice = |change| match change {
            ClusterChange::Master(host) => Notice::now(EventKind::Failover {
                host,
                cluster_masters: Some(self.cluster.masters_on(host).unwrap_or_default()),
                consequences: Vec::new(),
            }),
            ClusterChange::Usable(slots) => Notice::now(EventKind::Cluster { slots }),
        };
        flushed.extend(changes.into_iter().map(notice));
        // While there is none, the one before is known.
        if let Some(host) = polled.etcd_leader {
            let before = self.etcd_leader.replace(host);
            flushed.extend(
                before
                    .filter(|before| *before != host)
                    .map(|_| Notice::now(EventKind::Leader { host })),
            );
        }
        flushed
    }

    /// Takes in how often nodes have run commands that delete all keys. None of ours does: locks that were asked for before the look before
    /// have lost their keys there, and of later ones it is not known.
    pub fn take_flushes(&mut self, flushes: Flushes) -> Vec<Notice> {
        let Flushes {
            counts,
            asked,
            answered,
        } = flushes;
        let mut notices = Vec::new();
        for (node, count) in counts {
            // A node that was started anew counts from 0.
            let before = self.flushes.insert(node, (count, asked));
            let Some((_, before)) = before.filter(|(before, _)| count > *before) else {
                continue;
            };
            let (since, now) = (monotonic_ns(before), monotonic_ns(answered));
            let all = self.deleted(node, since, since, LostKeys::Deleted);
            let perhaps = Loss {
                asked_from: since,
                ..self.deleted(node, since, now, LostKeys::Unknown)
            };
            self.unordered_losses.extend([all, perhaps]);
            let node = node.to_string();
            notices.push(Notice::Warning(Caveat::KeysDeleted { node }));
        }
        notices
    }

    /// Keys that were deleted from outside since then, of locks that were asked for before `asked_before`.
    fn deleted(&self, node: NodeName, since: i64, asked_before: i64, keys: LostKeys) -> Loss {
        Loss {
            servers: self.handle.servers(node),
            event: None,
            masters: Vec::new(),
            since,
            asked_from: i64::MIN,
            asked_before,
            keys,
        }
    }

    /// What a command by hand may have done to locks. When it deletes all keys it names the time more exactly than the counts of
    /// [`Self::take_flushes`]; otherwise it is not known which keys it has written, since they may be secrets.
    fn written_over(&self, write: &ManualWrite) -> Vec<Loss> {
        let ns = |us: i64| us.saturating_mul(1000);
        let (sent, done) = (ns(write.sent_us), write.done_us.map_or(i64::MAX, ns));
        let all = write
            .deletes_all_keys()
            .then(|| self.deleted(write.node, sent, sent, LostKeys::Deleted));
        let perhaps = Loss {
            asked_from: all.as_ref().map_or(i64::MIN, |_| sent),
            ..self.deleted(write.node, sent, done, LostKeys::Unknown)
        };
        all.into_iter().chain([perhaps]).collect()
    }

    /// What changed in the lab without an order, and what people have written to its nodes. The death of a lock node is a fault like any other; without the cache node or the
    /// keeper the run proves nothing.
    pub fn look(&mut self, arms: &[Arm]) -> Vec<Notice> {
        let changes = self.processes.look(&self.handle);
        let losses = changes.iter().filter_map(|change| self.loss(change));
        self.unordered_losses.extend(losses.collect::<Vec<_>>());
        self.unordered_outages
            .extend(changes.iter().filter_map(unordered_outage));
        let written = self.logs.take_writes();
        let losses: Vec<Loss> = written.iter().flat_map(|write| self.written_over(write)).collect();
        self.unordered_losses.extend(losses);
        let written = written.into_iter().map(|write| {
            let known_us = write.done_us.unwrap_or(write.sent_us);
            Notice::warning_at(at_monotonic_us(known_us), write.caveat())
        });
        let changed = changes.into_iter().map(|change| self.noticed(change, arms));
        written.chain(changed).collect()
    }

    /// What the nodes of a host keep that is down, once they are started again.
    pub fn kept_by(&self, host: HostId) -> Persistence {
        match self.handle.has_files(host) {
            true => self.spec.persistence,
            false => Persistence::None,
        }
    }

    /// The servers that are down and will come back without a key.
    pub fn emptied_while_down(&self) -> Vec<SocketAddr> {
        let is_emptied = |node: &NodeName| {
            let is_down = self.handle.node_state(*node).conditions.has(Condition::Down);
            let keeps_nothing = || node.host.is_some_and(|host| self.kept_by(host) == Persistence::None);
            is_down && self.handle.is_ours(*node) && keeps_nothing()
        };
        let nodes = self.handle.names().filter(is_emptied);
        nodes.flat_map(|node| self.handle.servers(node)).collect()
    }

    /// What a node may have lost that was down and is up again.
    fn loss(&self, change: &Change) -> Option<Loss> {
        let Change::Node(node, before, after) = change else {
            return None;
        };
        let down = before.conditions.get(Condition::Down)?;
        let is_ours = self.handle.is_ours(*node);
        (!after.conditions.has(Condition::Down)).then(|| Loss {
            servers: self.handle.servers(*node),
            event: None,
            masters: Vec::new(),
            since: monotonic_ns(down.since),
            asked_from: i64::MIN,
            // Of a server that is not ours it is not known whether, and when, it had died.
            asked_before: monotonic_ns(if is_ours { down.since } else { Instant::now() }),
            keys: match is_ours && self.spec.persistence == Persistence::None {
                true => LostKeys::All,
                false => LostKeys::Unknown,
            },
        })
    }

    fn noticed(&self, change: Change, arms: &[Arm]) -> Notice {
        match change {
            Change::Node(node, before, after) => {
                let goes_on = after.is_up() && before.conditions.has(Condition::Paused);
                let hit = node.host.filter(|_| !after.is_up());
                let unavailable = hit.map_or_else(Vec::new, |host| self.unavailable(host, arms));
                let change = match self.handle.is_ours(node) {
                    true => outside_change(&before, &after),
                    false => change_elsewhere(&before, &after),
                };
                // A lock node has the name of its host, which may have others that go on.
                let is_alone = self.handle.names().filter(|name| name.host == node.host).count() == 1;
                let name = match (node.host, node.role) {
                    (Some(host), Role::Lock) if !is_alone => format!("the {} of {host}", Role::Lock.noun()),
                    _ => node.to_string(),
                };
                let loses_cache = node.role == Role::Cache && !goes_on;
                let caveat = Caveat::NodeChanged {
                    node: name,
                    change,
                    unavailable,
                    loses_cache,
                };
                match loses_cache {
                    true => Notice::Once(caveat),
                    false => Notice::Warning(caveat),
                }
            }
            Change::Moved(node, [before, now]) => Notice::Warning(Caveat::PortTaken {
                node: node.to_string(),
                before,
                now,
            }),
            Change::KeeperStopped(true) => Notice::Once(Caveat::KeeperStopped),
            Change::KeeperStopped(false) => Notice::Warning(Caveat::KeeperResumed),
            Change::Keeper(quoted) => Notice::Once(Caveat::KeeperGone {
                quoted,
                with_hosts: self.spec.are_ours(),
            }),
        }
    }

    /// Notes that an order for this host begins, or was carried out or has failed. In between it is the cause of changes to the host;
    /// those before and after come from outside.
    pub fn order(&mut self, host: HostId, begins: bool, arms: &[Arm]) -> Vec<Notice> {
        let notices = self.look(arms);
        self.processes.order(host, begins);
        notices
    }

    /// The arms that had no quorum at the end because of hosts that went away without an order and did not come back: nothing was
    /// shown of their locks since then. Of our own nodes, one that somebody kills is a fault like any other: it can be seen who did
    /// what to the process. What became of somebody else's server is not known.
    pub fn arms_without_nodes(&self, arms: &[Arm]) -> Vec<Notice> {
        if self.spec.are_ours() {
            return Vec::new();
        }
        let doubt = |arm: &Arm| {
            if !matches!(arm.spec.nodes(), LockNodes::OneHost | LockNodes::EveryHost) {
                return None;
            }
            let hosts = arm.hosts();
            let up = hosts.iter().filter(|host| self.handle.state(**host).is_up());
            let lost = hosts.iter().filter(|host| self.processes.is_lost(**host));
            let lost: Vec<HostId> = lost.copied().collect();
            if up.count() * 2 > hosts.len() || lost.is_empty() {
                return None;
            }
            let name = arm.spec.name.clone();
            let caveat = Caveat::NoQuorumAtEnd { arm: name, hosts: lost };
            Some(Notice::Once(caveat))
        };
        arms.iter().filter_map(doubt).collect()
    }
}

/// A lock node that has gone down or was paused, and since when; or that is up again (`false`).
fn unordered_outage(change: &Change) -> Option<(HostId, Instant, bool)> {
    let Change::Node(node, before, after) = change else {
        return None;
    };
    let host = node.host?;
    match (before.is_up(), after.is_up()) {
        (true, false) => {
            let down = after.conditions.get(Condition::Down);
            let since = down.or_else(|| after.conditions.get(Condition::Paused))?.since;
            Some((host, since, true))
        }
        (false, true) => Some((host, Instant::now(), false)),
        _ => None,
    }
}
