//! The lab itself: its nodes from their start to their end, and where they are.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::awaited::Awaited;
use crate::client::Client;
use crate::directory::base_dir::BaseDir;
use crate::directory::base_dir::check_temp_dir;
use crate::directory::leftovers;
use crate::directory::password::Password;
use crate::directory::site::Site;
use crate::docker;
use crate::error::LabError;
use crate::keeper;
use crate::network::link_states::Links;
use crate::network::source;
use crate::proxy::{Doors, Proxy};
use crate::running;
use crate::server::binary::ServerBinary;
use crate::server::containers::Containers;
use crate::server::node::{Node, Plan};
use crate::server::node_name::{NodeName, Role};
use crate::server::nodes::Nodes;
use crate::server::ports;
use crate::server::ports::NodePorts;
use crate::server::probe;
use crate::server::probe_keys;
use crate::server::probe_keys::Kept;
use crate::server::settings::{NodeSettings, TlsFiles};
use crate::server::state::HostState;
use crate::server::stats;
use crate::server::stats::NodeStats;
use crate::server::version::{Flavour, Version};
use crate::topology::cluster;
use crate::topology::layout::{layout, on_hosts, with_bus};
use crate::topology::replication;
use crate::topology::stack;
use lockstorm_data::model::{ClusterNode, HostId, ReplicationRole};
use lockstorm_data::scenario::{self, LabSpec};
use lockstorm_lock::NodeAddress;

/// How many round trips are measured each way to tell what the proxy costs.
const COST_SAMPLES: usize = 51;

/// The oldest version whose clusters can be told their ports.
const CLUSTER_SINCE: Version = Version(7, 0, 0);

/// The options of a lab.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// The server program of all nodes.
    pub binary: ServerBinary,
    /// The program that becomes the keeper when its first argument is [`keeper::ARGUMENT`]: lockstorm.
    pub keeper: PathBuf,
    /// How long a node may take to answer after its start or restart.
    pub start_timeout: Duration,
    /// If set, every lock node speaks TLS too, on a port of its own. A server that was built without TLS then fails to
    /// start.
    pub tls: Option<TlsFiles>,
    /// Whether there is a proxy between the nodes of the hosts and those who use them. Faults of the network need it.
    pub proxy: bool,
    /// Whether hosts will be cut off, which only containers can be.
    pub cuts: bool,
    /// Whether a node must come back at its port even if somebody else has taken that while it was down, because its users
    /// keep its first address. With ports that the scenario chose it must in any case.
    pub ports_stay: bool,
}

impl LabOptions {
    /// This program as the keeper, 10 s for a node to start, no TLS, no proxy, and nodes that may come back at another port.
    ///
    /// # Errors
    /// The path of this program can't be found.
    pub fn new(binary: ServerBinary) -> Result<Self, LabError> {
        let mut keeper = std::env::current_exe().map_err(|error| LabError::KeeperStart(error.to_string()))?;
        if cfg!(target_os = "linux") && !keeper.exists() {
            // The file was replaced while it runs, by a build or an update; the kernel still has it.
            keeper = PathBuf::from("/proc/self/exe");
        }
        Ok(Self {
            binary,
            keeper,
            start_timeout: Duration::from_secs(10),
            tls: None,
            proxy: false,
            cuts: false,
            ports_stay: false,
        })
    }
}

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
    key_prefix: String,
}

impl Lab {
    /// Starts all nodes at once, and returns when every one answers PING, and replicas, Sentinels and the cluster work
    /// together.
    ///
    /// # Errors
    /// The keeper or a node did not start. Nothing is left of the others then.
    pub async fn up(spec: &LabSpec, options: LabOptions) -> Result<Self, LabError> {
        Self::up_telling(spec, options, |_| {}).await
    }

    /// Starts all nodes, as [`Lab::up`] does, and tells meanwhile what it waits for.
    ///
    /// # Errors
    /// Those of [`Lab::up`].
    pub async fn up_telling(
        spec: &LabSpec,
        options: LabOptions,
        tell: impl Fn(&str) + Send + Sync,
    ) -> Result<Self, LabError> {
        Self::with(layout(&on_hosts(spec)), spec, options, &Awaited::new(&tell)).await
    }

    /// Starts the nodes of these names, as [`Lab::up`] does, and tells `awaited` what it waits for.
    pub(crate) async fn with(
        names: Vec<NodeName>,
        spec: &LabSpec,
        options: LabOptions,
        awaited: &Awaited<'_>,
    ) -> Result<Self, LabError> {
        can_be_played(spec, &options)?;
        check_temp_dir()?;
        let containers = options.binary.containers.as_ref();
        let found = containers.is_some_and(Containers::are_found);
        docker::check(containers, &names, spec).await?;
        BaseDir::open().map_err(|error| LabError::BaseDir(error.to_string()))?;
        // If the leftovers of a crash can't be removed, the lab starts all the same.
        let _ = tokio::task::spawn_blocking(leftovers::remove).await;
        // The second ports come last, so that the first ones don't depend on them.
        let users: Vec<NodeName> = names.iter().copied().chain(with_bus(&names)).collect();
        let doors = doors(&names, &options)?;
        let ports = match spec.port {
            Some(first) => fixed_ports(first, &users)?,
            // Each will say where it listens.
            None if found => vec![0; users.len()],
            None => ports::find(users.len())?,
        };
        let (client, ground) = match Client::start(&options.keeper, names.len(), containers).await {
            Ok(started) => started,
            Err(error) => {
                // The keeper may have been killed after it made its directory, but before it reported that.
                let _ = tokio::task::spawn_blocking(leftovers::remove).await;
                return Err(error);
            }
        };
        let client = Arc::new(client);
        let dir = ground.dir.clone();
        let patience = match spec.are_ours() {
            true => Duration::ZERO,
            false => keeper::REMOVAL,
        };
        let site = Site { client, dir, patience };
        let key_prefix = key_prefix(spec);
        let started = async {
            let password = match spec.password {
                scenario::Password::Random if !found => Some(Password::create(&site.dir)?),
                // What a stack requires is not known here.
                scenario::Password::Random | scenario::Password::Off => None,
            };
            let plan = Plan {
                binary: options.binary.clone(),
                persistence: spec.persistence,
                password,
                ground,
                start_timeout: options.start_timeout,
                tls: options.tls.clone(),
                replicated: spec.replicated.clone(),
                cluster: spec.cluster.clone(),
                doors: match &doors {
                    Some(doors) => doors.places().map_err(LabError::Proxy)?,
                    None => BTreeMap::new(),
                },
                given: spec.nodes.iter().flat_map(|nodes| nodes.urls.clone()).collect(),
                key_prefix: key_prefix.clone(),
                ports_fixed: spec.port.is_some(),
                ports_stay: spec.port.is_some() || options.ports_stay,
            };
            awaited.servers(spec.processes());
            let nodes = Nodes::start(&site.client, plan, on_ports(&names, &ports)).await?;
            if found {
                stack::adopt(&nodes).await?;
            }
            let behind = |name| nodes.get(name).map(|node| node.follow());
            let proxy = match doors {
                Some(doors) => Some(Proxy::start(doors, behind).await.map_err(LabError::Proxy)?),
                None => None,
            };
            let entrance = |node: &Node| door(proxy.as_ref(), node).unwrap_or_else(|| node.access());
            let replicated = async {
                match &spec.replicated {
                    Some(spec) => replication::establish(&nodes, spec, entrance, awaited).await,
                    None => Ok(()),
                }
            };
            let cluster = async {
                match &spec.cluster {
                    Some(_) => cluster::establish(&nodes, awaited).await,
                    None => Ok(()),
                }
            };
            tokio::try_join!(replicated, cluster)?;
            running::announce(&site.dir, &nodes)?;
            Ok((nodes, proxy))
        };
        match started.await {
            Ok((nodes, proxy)) => Ok(Self {
                site,
                nodes,
                proxy,
                links: Links::default(),
                key_prefix,
            }),
            Err(error) => {
                site.clear().await;
                Err(error)
            }
        }
    }

    /// The run directory. Files that are put there are removed with it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.site.dir
    }

    /// What all keys begin with that are kept on the lock nodes: nothing, unless these are not ours.
    #[must_use]
    pub fn key_prefix(&self) -> &str {
        &self.key_prefix
    }

    /// Whether a node is a process of ours.
    #[must_use]
    pub fn is_ours(&self, name: NodeName) -> bool {
        self.nodes.get(name).is_none_or(|node| node.is_ours)
    }

    /// The nodes from which keys that are left can't be removed at the end, and why.
    #[must_use]
    pub fn keys_stay(&self) -> Vec<(NodeName, String)> {
        let lacks = |node: &Arc<Node>| Some((node.name, self.site.client.slot(node.id).lacks?));
        self.nodes.all().filter_map(lacks).collect()
    }

    /// Where each host's lock node is used now, in the order of the hosts, with the lab's password: at the proxy, if there is
    /// one.
    #[must_use]
    pub fn lock_nodes(&self) -> Vec<(HostId, NodeAddress)> {
        let nodes = self.nodes.of(Role::Lock);
        nodes
            .filter_map(|node| Some((node.name.host?, self.entrance(node))))
            .collect()
    }

    /// Where each host's lock node is used, in the order of the hosts, with the lab's password, for users who follow a node that
    /// comes back at another place. A door of the proxy stays where it is.
    #[must_use]
    pub fn follow_lock_nodes(&self) -> Vec<(HostId, watch::Receiver<NodeAddress>)> {
        let place = |node: &Node| match self.door(node) {
            Some(door) => watch::channel(door).1,
            None => node.follow(),
        };
        let nodes = self.nodes.of(Role::Lock);
        nodes.filter_map(|node| Some((node.name.host?, place(node)))).collect()
    }

    /// Where the Sentinels are used, in the order of the hosts, and the first master, with the lab's password: at the proxy, if
    /// there is one. `None` in a lab without replicated nodes.
    #[must_use]
    pub fn replicated_nodes(&self) -> Option<(Vec<NodeAddress>, NodeAddress)> {
        let first = self.nodes.of(Role::Replicated).next()?;
        let sentinels = self.nodes.of(Role::Sentinel).map(|node| self.entrance(node));
        Some((sentinels.collect(), self.entrance(first)))
    }

    /// The addresses of the cluster's nodes with the lab's password: those that began as masters, in the order of the hosts, and
    /// those that began as replicas; `None` in a lab without a cluster.
    #[must_use]
    pub fn cluster_nodes(&self) -> Option<[Vec<NodeAddress>; 2]> {
        self.nodes.of(Role::FirstInCluster).next()?;
        Some(Role::IN_CLUSTER.map(|role| self.nodes.of(role).map(|node| node.access()).collect()))
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
        door(self.proxy.as_ref(), node)
    }

    /// The host whose replicated node is reached on this port, directly or by its door.
    pub(crate) fn host_on(&self, port: u16) -> Option<HostId> {
        let is_there = |node: &&Arc<Node>| node.address().port() == port;
        let direct = self.nodes.of(Role::Replicated).find(is_there).map(|node| node.name);
        direct.or_else(|| self.proxy.as_ref()?.behind(port))?.host
    }

    /// The present address of a node itself, with the lab's password; `None` if the lab has no such node.
    #[must_use]
    pub fn address(&self, name: NodeName) -> Option<NodeAddress> {
        self.nodes.get(name).map(|node| node.access())
    }

    /// The ports on which the lock nodes speak TLS, in the order of [`Lab::lock_nodes`]; `None` in a lab without TLS.
    #[must_use]
    pub fn tls_ports(&self) -> Option<Vec<u16>> {
        self.nodes.of(Role::Lock).map(|node| node.tls_port).collect()
    }

    /// The address of the cache node, with the lab's password.
    #[must_use]
    pub fn cache(&self) -> NodeAddress {
        // Every layout has a cache node, and `up` returns no lab without all of its nodes.
        self.address(NodeName::CACHE).expect("every lab has a cache node")
    }

    /// The names of all nodes: those of the hosts in order, then the others.
    pub fn names(&self) -> impl Iterator<Item = NodeName> {
        self.nodes.all().map(|node| node.name)
    }

    /// How each node was started last, in the order of [`Lab::names`].
    #[must_use]
    pub fn settings(&self) -> Vec<NodeSettings> {
        self.nodes.all().map(|node| node.settings()).collect()
    }

    /// The present state of a host, no matter who changed it: it has every condition that one of its nodes has. An unknown
    /// host counts as down.
    #[must_use]
    pub fn state(&self, host: HostId) -> HostState {
        match self.nodes.host(host) {
            Ok(host) => host.state(&self.site.client),
            Err(error) => HostState::unknown(error.to_string()),
        }
    }

    /// The present state of a node, no matter who changed it. An unknown node counts as down.
    #[must_use]
    pub fn node_state(&self, name: NodeName) -> HostState {
        match self.nodes.get(name) {
            Some(node) => self.site.client.slot(node.id).state,
            None => HostState::unknown(format!("the lab has no such node: {name}")),
        }
    }

    /// Whether somebody has stopped the keeper. Then nothing that happens to the processes is reported.
    #[must_use]
    pub fn keeper_stopped(&self) -> bool {
        self.site.client.is_stopped()
    }

    /// The last message of the keeper, if it is gone, and every process with it.
    #[must_use]
    pub fn keeper_gone(&self) -> Option<String> {
        self.site.client.gone()
    }

    /// The process id of a node; `None` while it is down.
    #[must_use]
    pub fn pid(&self, name: NodeName) -> Option<u32> {
        self.site.client.slot(self.nodes.get(name)?.id).pid
    }

    /// The statistics of the lock nodes, which are all asked at once. Nodes that are not up, or do not answer within 200
    /// ms, are left out. A paused host is not asked.
    pub async fn stats(&self) -> BTreeMap<NodeName, NodeStats> {
        let up = |node: &&Arc<Node>| self.site.client.slot(node.id).state.is_up();
        let asked: Vec<_> = self
            .nodes
            .of(Role::Lock)
            .filter(up)
            .map(|node| {
                let node = Arc::clone(node);
                tokio::spawn(async move { Some((node.name, node.admin.lock().await.ask(&node.access()).await?)) })
            })
            .collect();
        let mut stats = BTreeMap::new();
        for answer in asked {
            stats.extend(answer.await.ok().flatten());
        }
        stats
    }

    /// The roles of the replicated nodes, as they say themselves; all are asked at once. A node that is not up, or does not
    /// answer within 200 ms, is left out.
    pub async fn replication_roles(&self) -> BTreeMap<NodeName, ReplicationRole> {
        let up = |node: &&Arc<Node>| self.site.client.slot(node.id).state.is_up();
        let nodes = self.nodes.of(Role::Replicated).filter(up).map(Arc::clone);
        let asked: JoinSet<_> = nodes
            .map(|node| async move { Some((node.name, replication::ask_role(&node).await?)) })
            .collect();
        let answers = asked.join_all().await.into_iter().flatten();
        answers
            .filter_map(|(name, answer)| Some((name, replication::read_role(&answer, |port| self.host_on(port))?)))
            .collect()
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

    /// The addresses at which app servers may reach this node.
    #[must_use]
    pub fn servers(&self, node: NodeName) -> Vec<SocketAddr> {
        let itself = self.nodes.get(node).map(|node| node.address());
        let door = self.proxy.as_ref().and_then(|proxy| proxy.door(node));
        itself.into_iter().chain(door).collect()
    }

    /// What the nodes of the cluster say that they are; all are asked at once. A node that is not up is left out, and `None`
    /// stands for one that does not answer within 200 ms.
    pub async fn cluster_roles(&self) -> BTreeMap<NodeName, Option<ClusterNode>> {
        let nodes = Role::IN_CLUSTER.into_iter().flat_map(|role| self.nodes.of(role));
        let up = nodes.filter(|node| self.site.client.slot(node.id).state.is_up());
        let asked: Vec<_> = up
            .map(Arc::clone)
            .map(|node| tokio::spawn(async move { (node.name, cluster::ask(&node).await) }))
            .collect();
        let mut roles = BTreeMap::new();
        for answer in asked {
            roles.extend(answer.await.ok());
        }
        roles
    }

    /// Ends all processes, even paused ones, and removes the run directory; and from nodes that are not ours, the run's keys.
    /// Returns when all that is gone, with the nodes that still have keys, and why. A second call does nothing.
    pub async fn down(&self) -> Vec<(NodeName, String)> {
        self.site.clear().await;
        let named = |(id, why): (usize, String)| {
            let node = self.nodes.all().find(|node| node.id == id)?;
            Some((node.name, why))
        };
        self.site.client.keys_left().into_iter().filter_map(named).collect()
    }
}

/// Checks that nodes of this kind can do what the lab is for.
fn can_be_played(spec: &LabSpec, options: &LabOptions) -> Result<(), LabError> {
    if spec.cluster.is_some() && options.binary.version < CLUSTER_SINCE {
        let (path, version) = (options.binary.path.clone(), options.binary.version);
        return Err(LabError::NoCluster { path, version });
    }
    if options.cuts && options.binary.containers.is_none() {
        return Err(LabError::CutsNeedContainers);
    }
    Ok(())
}

/// Doors for the nodes of the hosts, if there is a proxy. Nodes that reach each other need addresses of their own for that.
fn doors(names: &[NodeName], options: &LabOptions) -> Result<Option<Doors>, LabError> {
    if !options.proxy {
        return Ok(None);
    }
    let has_door = |name: &NodeName| name.host.is_some() && (name.role == Role::Lock || source::of(*name).is_some());
    let on_hosts = || names.iter().copied().filter(has_door);
    // The doors are on loopback, where containers don't reach them.
    if options.binary.containers.is_some() && on_hosts().any(|node| source::of(node).is_some()) {
        return Err(LabError::LinksNeedProcesses);
    }
    for node in on_hosts() {
        let Some(address) = source::of(node) else { continue };
        let (path, version) = (options.binary.path.clone(), options.binary.version);
        if options.binary.flavour == Flavour::Redis && version < Version(7, 0, 0) {
            return Err(LabError::TooOldForLinks { path, version });
        }
        TcpListener::bind((address, 0)).map_err(|why| LabError::NoSource { node, address, why })?;
    }
    Doors::open(on_hosts()).map(Some).map_err(LabError::Proxy)
}

/// The door of this proxy to a node, with the node's password.
fn door(proxy: Option<&Proxy>, node: &Node) -> Option<NodeAddress> {
    let door = proxy?.door(node.name)?;
    Some(match node.is_ours {
        true => node.access().at(door),
        // It may be over TLS, and must then prove its own name. Only our own door gets its password.
        false => node.access().through(door).of_this_user(),
    })
}

/// What the keys of a run begin with on nodes that are not ours, where others have keys, too.
fn key_prefix(spec: &LabSpec) -> String {
    match spec.are_ours() {
        true => String::new(),
        false => format!("lockstorm:{:08x}:", rand::random::<u32>()),
    }
}

/// The nodes with their ports: the first ports in the order of the nodes, and then the second ports of those that have one.
fn on_ports(names: &[NodeName], ports: &[u16]) -> Vec<(NodeName, NodePorts)> {
    let (first, second) = ports.split_at(names.len());
    let bus: BTreeMap<NodeName, u16> = with_bus(names).zip(second.iter().copied()).collect();
    let on = |(&name, &port): (&NodeName, &u16)| {
        let bus = bus.get(&name).copied();
        (name, NodePorts { port, bus })
    };
    names.iter().zip(first).map(on).collect()
}

/// The ports from `first` on that the scenario asks for, if all are free.
fn fixed_ports(first: u16, names: &[NodeName]) -> Result<Vec<u16>, LabError> {
    let count = names.len();
    let ports: Vec<u16> = (first..=u16::MAX).take(count).collect();
    if ports.len() < count {
        return Err(LabError::PortRange { port: first, count });
    }
    for (&port, name) in ports.iter().zip(names) {
        ports::check(port).map_err(|why| LabError::PortTaken {
            port,
            why,
            node: name.to_string(),
        })?;
    }
    Ok(ports)
}
