//! Hosts and their nodes: real server processes on loopback, started through a keeper, broken and restored on demand.
//!
//! Nothing that the lab starts outlives the process that owns it, no matter how that ends; see [`keeper`].

mod actions;
mod base_dir;
mod binary;
mod client;
mod error;
mod install;
pub mod keeper;
mod layout;
pub mod leftovers;
mod node;
mod node_name;
mod nodes;
mod own_file;
mod password;
mod ports;
mod probe;
mod processes;
mod programs;
mod proxy;
mod redis_client;
mod replication;
mod run_dir;
mod running;
mod settings;
mod site;
mod state;
mod stats;
mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub use self::base_dir::check_temp_dir;
pub use self::binary::ServerBinary;
pub use self::error::LabError;
pub use self::node_name::{NodeName, Role};
#[cfg(feature = "peers")]
pub(crate) use self::redis_client::connection_info;
pub(crate) use self::redis_client::redis_client;
pub use self::replication::MASTER_NAME;
pub(crate) use self::run_dir::RunDir;
pub use self::running::Running;
pub use self::settings::{NodeSettings, TlsFiles};
pub use self::state::HostState;
pub use self::stats::NodeStats;
pub(crate) use self::stats::connect;
pub use self::version::{Flavour, Version};

use self::base_dir::BaseDir;
use self::client::Client;
use self::layout::{layout, on_each_host};
use self::node::{Node, Plan};
use self::nodes::Nodes;
use self::password::Password;
use self::proxy::Proxy;
use self::site::Site;
use crate::lock::NodeAddress;
use crate::model::{HostId, ReplicationRole};
use crate::scenario::{self, LabSpec};

/// How many round trips are measured each way to tell what the proxy costs.
const COST_SAMPLES: usize = 51;

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
    /// Whether there is a proxy between the lock nodes and those who use them. Faults of the network need it.
    pub proxy: bool,
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
            ports_stay: false,
        })
    }
}

/// Running hosts and the cache node.
///
/// Dropping this ends all processes and removes the directory a moment later; [`Lab::down`] waits for that.
#[derive(Debug)]
pub struct Lab {
    site: Site,
    nodes: Nodes,
    /// In front of the lock nodes, if a fault needs it.
    proxy: Option<Proxy>,
}

impl Lab {
    /// Starts all nodes at once, and returns when every one answers PING.
    ///
    /// # Errors
    /// The keeper or a node did not start. Nothing is left of the others then.
    pub async fn up(spec: &LabSpec, options: LabOptions) -> Result<Self, LabError> {
        Self::with(layout(spec.hosts, on_each_host(spec)), spec, options).await
    }

    /// The same with these nodes.
    async fn with(names: Vec<NodeName>, spec: &LabSpec, options: LabOptions) -> Result<Self, LabError> {
        check_temp_dir()?;
        BaseDir::open().map_err(|error| LabError::BaseDir(error.to_string()))?;
        // If the leftovers of a crash can't be removed, the lab starts all the same.
        let _ = tokio::task::spawn_blocking(leftovers::remove).await;
        let ports = match spec.port {
            Some(first) => fixed_ports(first, &names)?,
            None => ports::find(names.len())?,
        };
        let (client, dir) = match Client::start(&options.keeper, names.len()).await {
            Ok(started) => started,
            Err(error) => {
                // The keeper may have been killed after it made its directory, but before it reported that.
                let _ = tokio::task::spawn_blocking(leftovers::remove).await;
                return Err(error);
            }
        };
        let client = Arc::new(client);
        let site = Site { client, dir };
        let started = async {
            let password = match spec.password {
                scenario::Password::Random => Some(Password::create(&site.dir)?),
                scenario::Password::Off => None,
            };
            let plan = Plan {
                binary: options.binary.clone(),
                persistence: spec.persistence,
                password,
                run_dir: site.dir.clone(),
                start_timeout: options.start_timeout,
                tls: options.tls.clone(),
                replicated: spec.replicated.clone(),
                ports_fixed: spec.port.is_some(),
                ports_stay: spec.port.is_some() || options.ports_stay,
            };
            let on_ports = names.into_iter().zip(ports).collect();
            let nodes = Nodes::start(&site.client, plan, on_ports).await?;
            if let Some(spec) = &spec.replicated {
                replication::establish(&nodes, spec).await?;
            }
            running::announce(&site.dir, &nodes)?;
            let proxy = match options.proxy {
                true => Some(Proxy::start(behind_doors(&nodes)).await.map_err(LabError::Proxy)?),
                false => None,
            };
            Ok((nodes, proxy))
        };
        match started.await {
            Ok((nodes, proxy)) => Ok(Self { site, nodes, proxy }),
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

    /// Where each host's lock node is used now, in the order of the hosts, with the lab's password: at the proxy, if there is
    /// one.
    #[must_use]
    pub fn lock_nodes(&self) -> Vec<(HostId, NodeAddress)> {
        let nodes = self.nodes.of(Role::Lock);
        nodes
            .filter_map(|node| Some((node.name.host?, self.entrance(node))))
            .collect()
    }

    /// The same places for users who follow a node that comes back at another one. A door of the proxy stays where it is.
    #[must_use]
    pub fn follow_lock_nodes(&self) -> Vec<(HostId, watch::Receiver<NodeAddress>)> {
        let place = |node: &Node| match self.door(node) {
            Some(door) => watch::channel(door).1,
            None => node.follow(),
        };
        let nodes = self.nodes.of(Role::Lock);
        nodes.filter_map(|node| Some((node.name.host?, place(node)))).collect()
    }

    /// The addresses of the Sentinels in the order of the hosts, and of the first master, with the lab's password; `None` in a
    /// lab without replicated nodes.
    #[must_use]
    pub fn replicated_nodes(&self) -> Option<(Vec<NodeAddress>, NodeAddress)> {
        let first = self.nodes.of(Role::Replicated).next()?;
        let sentinels = self.nodes.of(Role::Sentinel).map(|node| node.access());
        Some((sentinels.collect(), first.access()))
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
    fn entrance(&self, node: &Node) -> NodeAddress {
        self.door(node).unwrap_or_else(|| node.access())
    }

    /// The proxy's door to a node, with the lab's password.
    fn door(&self, node: &Node) -> Option<NodeAddress> {
        let door = self.proxy.as_ref()?.door(node.name)?;
        Some(node.access().at(door))
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
        let asked: Vec<_> = nodes
            .map(|node| tokio::spawn(async move { Some((node.name, replication::role(&node).await?)) }))
            .collect();
        let mut roles = BTreeMap::new();
        for answer in asked {
            roles.extend(answer.await.ok().flatten());
        }
        roles
    }

    /// Ends all processes, even paused ones, and removes the run directory. Returns when both are gone. A second call does
    /// nothing.
    pub async fn down(&self) {
        self.site.clear().await;
    }
}

/// The nodes that a proxy stands in front of.
fn behind_doors(nodes: &Nodes) -> Vec<(NodeName, watch::Receiver<NodeAddress>)> {
    let lock_nodes = nodes.of(Role::Lock);
    lock_nodes.map(|node| (node.name, node.follow())).collect()
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
