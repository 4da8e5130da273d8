//! Hosts and their nodes: real server processes on loopback, started through a keeper, broken and restored on demand.
//!
//! Nothing that the lab starts outlives the process that owns it, however that ends; see [`keeper`].

mod actions;
mod base_dir;
mod binary;
mod client;
mod error;
mod install;
pub mod keeper;
pub mod leftovers;
mod node;
mod password;
mod ports;
mod probe;
mod processes;
mod redis_client;
mod run_dir;
mod running;
mod settings;
mod state;
mod stats;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

pub use self::base_dir::check_temp_dir;
pub use self::binary::{Flavour, ServerBinary, Version};
pub use self::error::LabError;
#[cfg(feature = "peers")]
pub(crate) use self::redis_client::connection_info;
pub(crate) use self::redis_client::redis_client;
pub(crate) use self::run_dir::RunDir;
pub use self::running::{CliNode, Running};
pub use self::settings::{NodeSettings, Role, TlsFiles};
pub use self::state::{DownWhy, Effect, HostState};
pub use self::stats::NodeStats;
pub(crate) use self::stats::connect;

use self::base_dir::BaseDir;
use self::client::Client;
use self::node::{Node, Plan};
use self::password::Password;
use crate::lock::NodeAddress;
use crate::model::HostId;
use crate::scenario::{self, LabSpec};

/// How long everything may take to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How a lab is started.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// The server program of all nodes.
    pub binary: ServerBinary,
    /// The program that becomes the keeper when its first argument is [`keeper::ARGUMENT`]: lockstorm.
    pub keeper: PathBuf,
    /// How long a node may take from its start, or restart, to its first answer.
    pub start_timeout: Duration,
    /// With these every host's node speaks TLS too, on a port of its own. A server that is built without TLS does not start then.
    pub tls: Option<TlsFiles>,
}

impl LabOptions {
    /// This very program as the keeper, 10 s for a node to start, and no TLS.
    ///
    /// # Errors
    /// When the path of this program can't be found.
    pub fn new(binary: ServerBinary) -> Result<Self, LabError> {
        let mut keeper = std::env::current_exe().map_err(|error| LabError::KeeperStart(error.to_string()))?;
        if cfg!(target_os = "linux") && !keeper.exists() {
            // Replaced while it runs, by a build or an update; the kernel still has it.
            keeper = PathBuf::from("/proc/self/exe");
        }
        Ok(Self {
            binary,
            keeper,
            start_timeout: Duration::from_secs(10),
            tls: None,
        })
    }
}

/// Running hosts and the cache node.
///
/// Dropping it ends all processes and removes the directory a moment later; [`Lab::down`] waits for that.
#[derive(Debug)]
pub struct Lab {
    client: Arc<Client>,
    dir: PathBuf,
    /// The lock node of each host, then the cache node. They are shared with the tasks that ask for their figures.
    nodes: Vec<Arc<Node>>,
}

impl Lab {
    /// Starts all nodes at once and returns when every one answers PING.
    ///
    /// # Errors
    /// When the keeper or a node does not start; nothing is left of the others then.
    pub async fn up(spec: &LabSpec, options: LabOptions) -> Result<Self, LabError> {
        check_temp_dir()?;
        BaseDir::open().map_err(|error| LabError::BaseDir(error.to_string()))?;
        // What a crash left is no reason not to start.
        let _ = tokio::task::spawn_blocking(leftovers::remove).await;
        let ports = match spec.port {
            Some(first) => fixed_ports(first, spec.hosts)?,
            None => ports::find(spec.hosts + 1)?,
        };
        let (client, dir) = match Client::start(&options.keeper, ports.len()).await {
            Ok(started) => started,
            Err(error) => {
                // It may have been killed when it had made its directory and had not told of it yet.
                let _ = tokio::task::spawn_blocking(leftovers::remove).await;
                return Err(error);
            }
        };
        let mut lab = Self {
            client: Arc::new(client),
            dir: dir.clone(),
            nodes: Vec::new(),
        };
        let started = async {
            let password = match spec.password {
                scenario::Password::Random => Some(Password::create(&dir)?),
                scenario::Password::Off => None,
            };
            let plan = Plan {
                binary: options.binary.clone(),
                persistence: spec.persistence,
                password,
                run_dir: dir.clone(),
                start_timeout: options.start_timeout,
                tls: options.tls.clone(),
            };
            let nodes = start_nodes(&lab.client, plan, ports, spec.port.is_some()).await?;
            running::announce(&dir, &nodes, &options.binary)?;
            Ok(nodes)
        };
        match started.await {
            Ok(nodes) => {
                lab.nodes = nodes;
                Ok(lab)
            }
            Err(error) => {
                lab.down().await;
                Err(error)
            }
        }
    }

    /// The run directory. What is put there is removed with it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the lock node of each host listens, in the order of the hosts, with the lab's password.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeAddress> {
        self.hosts().iter().map(|node| node.access.clone()).collect()
    }

    /// The ports on which the lock nodes speak TLS, in the order of the hosts; none in a lab without TLS.
    #[must_use]
    pub fn tls_ports(&self) -> Option<Vec<u16>> {
        self.hosts().iter().map(|node| node.tls_port).collect()
    }

    /// Where the cache node listens, with the lab's password.
    #[must_use]
    pub fn cache(&self) -> NodeAddress {
        // `up` returns no lab without a cache node.
        self.nodes[self.nodes.len() - 1].access.clone()
    }

    /// How every node was started: the hosts' in order, then the cache node.
    #[must_use]
    pub fn settings(&self) -> Vec<NodeSettings> {
        self.nodes.iter().map(|node| node.settings.clone()).collect()
    }

    /// The state of a host, kept current whoever changes it; that of an unknown host is down.
    #[must_use]
    pub fn state(&self, host: HostId) -> HostState {
        self.host(host).map_or_else(
            |error| HostState::Down {
                why: DownWhy::Died(error.to_string()),
                since: std::time::Instant::now(),
            },
            |node| self.client.slot(node.id).state,
        )
    }

    /// The state of the cache node, which no action of ours ever changes.
    #[must_use]
    pub fn cache_state(&self) -> HostState {
        // `up` returns no lab without a cache node, and it is the last one.
        self.client.slot(self.nodes.len() - 1).state
    }

    /// Whether somebody has stopped the keeper: then nothing that happens to the processes is heard of.
    #[must_use]
    pub fn keeper_stopped(&self) -> bool {
        self.client.is_stopped()
    }

    /// The last words of the keeper once it is gone, and every process with it.
    #[must_use]
    pub fn keeper_gone(&self) -> Option<String> {
        self.client.gone()
    }

    /// The process id of a host's lock node; none while it is down.
    #[must_use]
    pub fn pid(&self, host: HostId) -> Option<u32> {
        self.client.slot(self.host(host).ok()?.id).pid
    }

    /// What the lock nodes say of themselves, all asked at once; none of a host that is not up or does not answer in
    /// 200 ms. A paused host costs nothing.
    pub async fn stats(&self) -> Vec<Option<NodeStats>> {
        let asked: Vec<_> = self
            .hosts()
            .iter()
            .map(|node| {
                let up = matches!(self.client.slot(node.id).state, HostState::Up { .. });
                let node = Arc::clone(node);
                up.then(|| tokio::spawn(async move { node.admin.lock().await.ask(&node.access).await }))
            })
            .collect();
        let mut stats = Vec::with_capacity(asked.len());
        for answer in asked {
            stats.push(match answer {
                Some(answer) => answer.await.ok().flatten(),
                None => None,
            });
        }
        stats
    }

    /// Ends all processes, paused ones too, and removes the run directory; returns when both are gone. A second call does
    /// nothing.
    pub async fn down(&self) {
        if !self.client.close(END_PATIENCE).await {
            self.client.kill();
            self.client.close(END_PATIENCE).await;
        }
        // Only after a keeper that did not end in good order is there anything left.
        let dir = self.dir.clone();
        let _ = tokio::task::spawn_blocking(move || leftovers::remove_run(&dir)).await;
    }

    fn hosts(&self) -> &[Arc<Node>] {
        &self.nodes[..self.nodes.len().saturating_sub(1)]
    }

    fn host(&self, host: HostId) -> Result<&Node, LabError> {
        let hosts = self.hosts();
        let index = host.0.checked_sub(1);
        let node = index.and_then(|index| hosts.get(index));
        node.map(AsRef::as_ref).ok_or(LabError::NoSuchHost {
            host,
            hosts: hosts.len(),
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A keeper that lives removes the directory when its pipe closes, a moment from now; one that is gone can't.
        if self.keeper_gone().is_some() {
            let _ = leftovers::remove_run(&self.dir);
        }
    }
}

/// The ports that the scenario asks for, all free now.
fn fixed_ports(first: u16, hosts: usize) -> Result<Vec<u16>, LabError> {
    let count = hosts + 1;
    let ports: Vec<u16> = (first..=u16::MAX).take(count).collect();
    if ports.len() < count {
        return Err(LabError::PortRange { port: first, count });
    }
    for (id, &port) in ports.iter().enumerate() {
        ports::check(port).map_err(|why| LabError::PortTaken {
            port,
            why,
            node: role(id, hosts).to_string(),
        })?;
    }
    Ok(ports)
}

fn role(id: usize, hosts: usize) -> Role {
    if id < hosts {
        Role::Lock(HostId::from_index(id))
    } else {
        Role::Cache
    }
}

/// Starts a node on each of `ports`, all at once; the last one is the cache node.
async fn start_nodes(
    client: &Arc<Client>,
    plan: Plan,
    ports: Vec<u16>,
    fixed: bool,
) -> Result<Vec<Arc<Node>>, LabError> {
    let hosts = ports.len() - 1;
    let plan = Arc::new(plan);
    let mut starting = JoinSet::new();
    for (id, port) in ports.into_iter().enumerate() {
        let (client, plan) = (Arc::clone(client), Arc::clone(&plan));
        starting.spawn(async move { Node::start(&client, &plan, id, role(id, hosts), port, fixed).await });
    }
    let mut nodes = Vec::with_capacity(hosts + 1);
    while let Some(node) = starting.join_next().await {
        let node = node.map_err(|error| LabError::KeeperGone(error.to_string()))?;
        nodes.push(Arc::new(node?));
    }
    nodes.sort_unstable_by_key(|node| node.id);
    Ok(nodes)
}
