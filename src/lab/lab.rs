//! The lab itself: its nodes from their start to their end, and where they are.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;

use crate::directory::site::Site;
use crate::error::LabError;
use crate::guest::guests::Guests;
use crate::network::link_states::Links;
use crate::proxy::Proxy;
use crate::server::data_files;
use crate::server::node::Node;
use crate::server::node_name::{NodeName, Role};
use crate::server::nodes::Nodes;
use crate::server::probe;
use crate::server::probe_keys::{self, Kept};
use crate::server::settings::NodeSettings;
use crate::server::state::HostState;
use crate::server::stats::{self, NodeStats};
use crate::topology::cluster;
use crate::topology::replication;
use lockstorm_data::model::{Action, ClusterNode, Conditions, HostId, Lack, ReplicationRole, ServerId, Target};
use lockstorm_etcd::{CallError, Gateway};
use lockstorm_lock::NodeAddress;

/// How many round trips are measured each way to tell what the proxy costs.
const COST_SAMPLES: usize = 51;

/// Running hosts and the cache node.
///
/// Dropping this ends all processes and removes the directory a moment later; [`Lab::down`] waits for that.
#[derive(Debug)]
pub struct Lab {
    pub(crate) site: Site,
    pub(crate) nodes: Nodes,
    /// In front of the nodes of the hosts, if a fault needs it.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) links: Links,
    pub(crate) guests: Guests,
}

impl Lab {
    /// The run directory. Files that are put there are removed with it.
    pub fn dir(&self) -> &Path {
        &self.site.dir
    }

    /// The lockstorm executable.
    pub fn program(&self) -> &Path {
        &self.nodes.plan.options.keeper
    }

    /// What all keys begin with that are kept on the lock nodes: nothing, unless these are not ours.
    pub fn key_prefix(&self) -> &str {
        &self.nodes.plan.key_prefix
    }

    /// What it lacks that faults need.
    pub fn lacks(&self) -> Vec<Lack> {
        let plan = &self.nodes.plan;
        plan.spec.lacks(
            plan.options.binary.containers.is_some(),
            self.proxy.is_some(),
            plan.preload.is_some(),
        )
    }

    /// Checks whether an action is possible on a target in these conditions.
    ///
    /// # Errors
    /// The lab lacks what it needs, or it makes no sense now.
    pub(crate) fn admit<T>(&self, action: Action, target: Target, now: &Conditions<T>) -> Result<(), LabError> {
        let obstacle = action.obstacle(target.kind(), &self.lacks(), now);
        obstacle.map_or(Ok(()), |obstacle| Err(LabError::of(action, target, obstacle)))
    }

    /// Whether a node is a process of ours.
    pub fn is_ours(&self, name: NodeName) -> bool {
        self.nodes.get(name).is_none_or(|node| node.is_ours)
    }

    /// Whether the nodes of a host have files in which keys may be.
    pub fn has_files(&self, host: HostId) -> bool {
        let Ok(host) = self.nodes.host(host) else { return false };
        // Where others keep theirs is not known.
        let are_elsewhere = |node: &Node| !node.is_ours || self.nodes.plan.options.binary.is_found();
        let has_some = |node: &Node| data_files::data_files(node.dir()).map_or(true, |files| !files.is_empty());
        host.nodes.iter().any(|node| are_elsewhere(node) || has_some(node))
    }

    /// The nodes from which keys that are left can't be removed at the end, and why.
    pub fn keys_stay(&self) -> Vec<(NodeName, String)> {
        let lacks = |node: &Node| Some((node.name, self.site.client.slot(node.id).lacks?));
        self.nodes.all().filter_map(lacks).collect()
    }

    /// Where each host's lock node is used now, in the order of the hosts, with the lab's password: at the proxy, if there is
    /// one.
    pub fn lock_nodes(&self) -> Vec<(HostId, NodeAddress)> {
        self.lock_nodes_from(None)
    }

    /// The same for an app server, which may have doors of its own.
    pub fn lock_nodes_from(&self, server: Option<ServerId>) -> Vec<(HostId, NodeAddress)> {
        let place = |node: &Node| self.door_of(node, server).unwrap_or_else(|| node.access());
        let nodes = self.nodes.of(Role::Lock);
        nodes.filter_map(|node| Some((node.name.host?, place(node)))).collect()
    }

    /// Where each host's lock node is used, in the order of the hosts, with the lab's password, for users who follow a node that
    /// comes back at another place. A door of the proxy stays where it is.
    pub fn follow_lock_nodes(&self) -> Vec<(HostId, watch::Receiver<NodeAddress>)> {
        self.follow_lock_nodes_from(None)
    }

    /// The same for an app server, which may have doors of its own.
    pub fn follow_lock_nodes_from(&self, server: Option<ServerId>) -> Vec<(HostId, watch::Receiver<NodeAddress>)> {
        let place = |node: &Node| match self.door_of(node, server) {
            Some(door) => watch::channel(door).1,
            None => node.follow(),
        };
        let nodes = self.nodes.of(Role::Lock);
        nodes.filter_map(|node| Some((node.name.host?, place(node)))).collect()
    }

    /// Where the Sentinels are used, in the order of the hosts, and the first master, with the lab's password: at the proxy, if
    /// there is one. `None` in a lab without replicated nodes.
    pub fn replicated_nodes(&self) -> Option<(Vec<NodeAddress>, NodeAddress)> {
        let first = self.nodes.of(Role::Replicated).next()?;
        let sentinels = self.nodes.of(Role::Sentinel).map(|node| self.entrance(node));
        Some((sentinels.collect(), self.entrance(first)))
    }

    /// The addresses of the cluster's nodes with the lab's password: those that began as masters, in the order of the hosts, and
    /// those that began as replicas; `None` in a lab without a cluster.
    pub fn cluster_nodes(&self) -> Option<[Vec<NodeAddress>; 2]> {
        self.nodes.of(Role::FirstInCluster).next()?;
        Some(Role::IN_CLUSTER.map(|role| self.nodes.of(role).map(Node::access).collect()))
    }

    /// The members of the lab's etcd as a client reaches them that has logged in, those from `first` on before the others; `None` in a
    /// lab without one.
    pub async fn etcd(&self, first: usize) -> Option<Result<Gateway, CallError>> {
        Some(self.nodes.plan.etcd.as_ref()?.gateway(first).await)
    }

    /// The host whose member of etcd is the leader; `None` in a lab without one, while there is none, and if it does not answer within
    /// 200 ms.
    pub async fn etcd_leader(&self) -> Option<HostId> {
        self.nodes.plan.etcd.as_ref()?.leader().await
    }

    /// How much the proxy adds to a round trip, measured now with host 1; `None` without a proxy, or if nobody answers.
    pub async fn cost_of_proxy(&self) -> Option<Duration> {
        let node = self.nodes.of(Role::Lock).next()?;
        let door = self.door(node)?;
        let ping = |address| async move { probe::round_trip(address, COST_SAMPLES, stats::STATS_TIMEOUT).await };
        let (through, direct) = (ping(&door).await?, ping(&node.access()).await?);
        Some(through.saturating_sub(direct))
    }

    /// Where a node is used: at the proxy's door, if it has one.
    pub(crate) fn entrance(&self, node: &Node) -> NodeAddress {
        self.door(node).unwrap_or_else(|| node.access())
    }

    /// The proxy's door to a node, with the lab's password.
    pub(crate) fn door(&self, node: &Node) -> Option<NodeAddress> {
        door(self.proxy.as_ref(), node, None)
    }

    /// The same for an app server, which may have one of its own.
    pub(crate) fn door_of(&self, node: &Node, server: Option<ServerId>) -> Option<NodeAddress> {
        door(self.proxy.as_ref(), node, server)
    }

    /// The host whose replicated node is reached on this port, directly or by its door.
    pub(crate) fn host_on(&self, port: u16) -> Option<HostId> {
        let is_there = |node: &&Node| node.address().port() == port;
        let direct = self.nodes.of(Role::Replicated).find(is_there).map(|node| node.name);
        direct.or_else(|| self.proxy.as_ref()?.behind(port))?.host
    }

    /// The present address of a node itself, with the lab's password; `None` if the lab has no such node.
    pub fn address(&self, name: NodeName) -> Option<NodeAddress> {
        self.nodes.get(name).map(Node::access)
    }

    /// Where a node is used, at the proxy's door if it has one, with the lab's password; `None` if the lab has no such node.
    pub fn used_at(&self, name: NodeName) -> Option<NodeAddress> {
        self.nodes.get(name).map(|node| self.entrance(node))
    }

    /// The bytes that programs have sent to a node and received from it through its door in the proxy; `None` if it has no door.
    pub(crate) fn carried(&self, name: NodeName) -> Option<u64> {
        self.proxy.as_ref()?.carried(name)
    }

    /// The ports on which the lock nodes speak TLS, in the order of [`Lab::lock_nodes`]; `None` in a lab without TLS.
    pub fn tls_ports(&self) -> Option<Vec<u16>> {
        self.nodes.of(Role::Lock).map(|node| node.tls_port).collect()
    }

    /// The address of the cache node, with the lab's password.
    pub fn cache(&self) -> NodeAddress {
        // Every layout has a cache node, and `up` returns no lab without all of its nodes.
        self.address(NodeName::CACHE).expect("every lab has a cache node")
    }

    /// The names of all nodes: those of the hosts in order, then the others.
    pub fn names(&self) -> impl Iterator<Item = NodeName> {
        self.nodes.all().map(|node| node.name)
    }

    /// How each node was started last, in the order of [`Lab::names`].
    pub fn settings(&self) -> Vec<NodeSettings> {
        self.nodes.all().map(Node::settings).collect()
    }

    /// The present state of a host, no matter who changed it: it has every condition that one of its nodes has. An unknown
    /// host counts as down.
    pub fn state(&self, host: HostId) -> HostState {
        match self.nodes.host(host) {
            Ok(host) => host.state(&self.site.client),
            Err(error) => HostState::unknown(error.to_string()),
        }
    }

    /// The present state of a node, no matter who changed it. An unknown node counts as down.
    pub fn node_state(&self, name: NodeName) -> HostState {
        match self.nodes.get(name) {
            Some(node) => self.site.client.slot(node.id).state,
            None => HostState::unknown(format!("the lab has no such node: {name}")),
        }
    }

    /// Whether somebody has stopped the keeper. Then nothing that happens to the processes is reported.
    pub fn keeper_stopped(&self) -> bool {
        self.site.client.is_stopped()
    }

    /// The last message of the keeper, if it is gone, and every process with it.
    pub fn keeper_gone(&self) -> Option<String> {
        self.site.client.gone()
    }

    /// The process id of a node; `None` while it is down.
    pub fn pid(&self, name: NodeName) -> Option<u32> {
        self.site.client.slot(self.nodes.get(name)?.id).pid
    }

    /// The statistics of the lock nodes, which are all asked at once. Nodes that are not up, or do not answer within 200
    /// ms, are left out. A paused host is not asked.
    pub async fn stats(&self) -> BTreeMap<NodeName, NodeStats> {
        self.ask_all(&[Role::Lock], |node| async {
            node.admin.lock().await.ask(&node.access()).await
        })
        .await
    }

    /// How often each node of ours that keeps locks has run a command that deletes all keys. Nodes that are not up, or do not answer within
    /// 200 ms, are left out.
    pub async fn flushes(&self) -> BTreeMap<NodeName, u64> {
        let roles = [
            Role::Lock,
            Role::Replicated,
            Role::FirstInCluster,
            Role::SecondInCluster,
        ];
        self.ask_all(&roles, |node| async {
            match node.is_ours {
                true => node.admin.lock().await.flushes(&node.access()).await,
                false => None,
            }
        })
        .await
    }

    /// The log of each node of a host that is ours: its host, what the node is, and the file.
    pub fn logs(&self) -> Vec<(HostId, &'static str, PathBuf)> {
        let ours = self.nodes.all().filter(|node| node.is_ours);
        ours.filter_map(|node| Some((node.name.host?, node.name.role.noun(), node.log())))
            .collect()
    }

    /// The roles of the replicated nodes, as they say themselves; all are asked at once. A node that is not up, or does not
    /// answer within 200 ms, is left out.
    pub async fn replication_roles(&self) -> BTreeMap<NodeName, ReplicationRole> {
        self.ask_all(&[Role::Replicated], |node| self.replication_role(node))
            .await
    }

    /// Asks the nodes of these roles that are up, all at once.
    async fn ask_all<'a, T, F: Future<Output = Option<T>>>(
        &'a self,
        roles: &[Role],
        ask: impl Fn(&'a Node) -> F,
    ) -> BTreeMap<NodeName, T> {
        let nodes = roles.iter().flat_map(|role| self.nodes.of(*role));
        let up = nodes.filter(|node| self.site.client.slot(node.id).state.is_up());
        let (names, asked): (Vec<_>, Vec<_>) = up.map(|node| (node.name, ask(node))).unzip();
        let answers = names.into_iter().zip(join_all(asked).await);
        answers.filter_map(|(name, answer)| Some((name, answer?))).collect()
    }

    /// What a replicated node says that it is; `None` if it does not answer in time.
    pub(crate) async fn replication_role(&self, node: &Node) -> Option<ReplicationRole> {
        let answer = node.admin.lock().await.role(&node.access()).await?;
        replication::read_role(&answer, |port| self.host_on(port))
    }

    /// Whether this node runs a write now.
    pub async fn accepts_writes(&self, node: NodeName) -> bool {
        match self.nodes.get(node) {
            Some(node) => probe_keys::accepts_writes(&node.access()).await,
            None => false,
        }
    }

    /// What this node has of these keys; `None` if it does not answer within a second, or refuses to.
    pub async fn kept(&self, node: NodeName, keys: &[&str]) -> Option<Vec<Kept>> {
        probe_keys::kept(&self.nodes.get(node)?.access(), keys).await
    }

    /// All keys of this run that the node has; `None` if it does not answer within a second, or refuses to.
    pub async fn keys(&self, node: NodeName) -> Option<Vec<String>> {
        probe_keys::all(&self.nodes.get(node)?.access(), self.key_prefix()).await
    }

    /// The addresses at which app servers may reach this node.
    pub fn servers(&self, node: NodeName) -> Vec<SocketAddr> {
        let itself = self.nodes.get(node).map(Node::address);
        let doors = self.proxy.iter().flat_map(|proxy| proxy.doors(node));
        itself.into_iter().chain(doors).collect()
    }

    /// What the nodes of the cluster say that they are; all are asked at once. A node that is not up is left out, and `None`
    /// stands for one that does not answer within 200 ms.
    pub async fn cluster_roles(&self) -> BTreeMap<NodeName, Option<ClusterNode>> {
        self.ask_all(&Role::IN_CLUSTER, |node| async { Some(cluster::ask(node).await) })
            .await
    }

    /// Ends all processes, even paused ones, and removes the run directory; and from nodes that are not ours, the run's keys.
    /// Returns when all that is gone, with the nodes that still have keys, and why. A second call does nothing.
    pub async fn down(&self) -> Vec<(NodeName, String)> {
        self.site.clear().await;
        let left = |node: &Node| Some((node.name, self.site.client.slot(node.id).keys_left?));
        self.nodes.all().filter_map(left).collect()
    }
}

/// The door of this proxy to a node, with the node's password: that of an app server, or the one of all.
pub(crate) fn door(proxy: Option<&Proxy>, node: &Node, server: Option<ServerId>) -> Option<NodeAddress> {
    let proxy = proxy?;
    let door = proxy.route(node.name, server).or_else(|| proxy.door(node.name))?;
    Some(match node.is_ours {
        true => node.access().at(door),
        // It may be over TLS, and must then prove its own name. Only our own door gets its password.
        false => node.access().through(door).of_this_user(),
    })
}
