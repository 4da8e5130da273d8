//! The start of a lab: from its scenario to nodes that all answer and work together.

use std::env;
use std::net::TcpListener;
use std::time::Duration;

use crate::awaited::Awaited;
use crate::client::Client;
use crate::directory::base_dir::{BaseDir, check_temp_dir};
use crate::directory::leftovers;
use crate::directory::password::Password;
use crate::directory::site::Site;
use crate::docker;
use crate::error::LabError;
use crate::guest::guests::Guests;
use crate::keeper;
use crate::lab::{Lab, door};
use crate::network::link_states::Links;
use crate::network::source;
use crate::options::LabOptions;

use crate::preload::control;
use crate::protocol::Ground;
use crate::proxy::{Behind, DoorName, Doors, Proxy};
use crate::running;
use crate::server::node::{Node, Plan};
use crate::server::node_name::{NodeName, Role};
use crate::server::nodes::Nodes;
use crate::server::ports::{self, NodePorts};
use crate::server::version::{Flavour, Version};
use crate::topology::cluster;
use crate::topology::etcd::{self, Etcd};
use crate::topology::layout::layout;
use crate::topology::replication;
use crate::topology::stack;
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::{self, LabSpec};

/// The oldest version whose clusters can be told their ports.
const CLUSTER_SINCE: Version = Version(7, 0, 0);

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
        // A program that is its own keeper and does not know it would start itself for ever.
        if env::args_os().nth(1).is_some_and(|first| first == keeper::ARGUMENT) {
            return Err(LabError::Other(format!(
                "this process was started as a keeper, which has no lab: call lockstorm_lab::keeper::main where the first argument is {}, \
                 or name another program as LabOptions::keeper",
                keeper::ARGUMENT
            )));
        }
        Self::with(layout(spec), spec, options, &Awaited::new(&tell)).await
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
        docker::check(options.binary.containers.as_ref(), &names, spec).await?;
        BaseDir::open().map_err(|error| LabError::Other(error.to_string()))?;
        // If the leftovers of a crash can't be removed, the lab starts all the same.
        let _ = tokio::task::spawn_blocking(leftovers::remove).await;
        let start = Start {
            names: &names,
            spec,
            options: &options,
            etcd: match spec.etcd {
                true => Some(etcd::Program::find(options.etcd.as_deref())?),
                false => None,
            },
            awaited,
        };
        let (doors, ports) = (doors(&names, &options)?, start.ports()?);
        let (site, ground) = start.keeper().await?;
        match start.servers(&site, ground, doors, ports).await {
            Ok((nodes, proxy)) => Ok(Self {
                site,
                nodes,
                proxy,
                links: Links::default(),
                guests: Guests::default(),
            }),
            Err(error) => {
                site.clear().await;
                Err(error)
            }
        }
    }
}

/// What a lab is started from.
struct Start<'a> {
    names: &'a [NodeName],
    spec: &'a LabSpec,
    options: &'a LabOptions,
    etcd: Option<etcd::Program>,
    awaited: &'a Awaited<'a>,
}

impl Start<'_> {
    /// Where each node is to listen.
    fn ports(&self) -> Result<Vec<(NodeName, NodePorts)>, LabError> {
        let with_bus = self.names.iter().filter(|name| name.role.has_bus());
        // The second ports, at which nodes talk to each other, come last: the first ones don't depend on them.
        let users: Vec<NodeName> = self.names.iter().chain(with_bus).copied().collect();
        let ports = match self.spec.port {
            Some(first) => fixed_ports(first, &users)?,
            // Each will say where it listens.
            None if self.options.binary.is_found() => vec![0; users.len()],
            None => ports::find(users.len())?,
        };
        let (first, second) = ports.split_at(self.names.len());
        let mut second = second.iter().copied();
        let on = |(&name, &port): (&NodeName, &u16)| {
            let bus = name.role.has_bus().then(|| second.next()).flatten();
            (name, NodePorts { port, bus })
        };
        Ok(self.names.iter().zip(first).map(on).collect())
    }

    /// Starts the keeper, which makes the run directory.
    async fn keeper(&self) -> Result<(Site, Ground), LabError> {
        let containers = self.options.binary.containers.as_ref();
        let (client, ground) = match Client::start(&self.options.keeper, self.names.len(), containers).await {
            Ok(started) => started,
            Err(error) => {
                // The keeper may have been killed after it made its directory, but before it reported that.
                let _ = tokio::task::spawn_blocking(leftovers::remove).await;
                return Err(error);
            }
        };
        let site = Site {
            client,
            dir: ground.dir.clone(),
            patience: match self.spec.are_ours() {
                true => Duration::ZERO,
                false => keeper::REMOVAL,
            },
        };
        Ok((site, ground))
    }

    /// What the nodes have in common.
    fn plan(
        &self,
        site: &Site,
        ground: Ground,
        doors: &Doors,
        ports: &[(NodeName, NodePorts)],
    ) -> Result<Plan, LabError> {
        let password = match self.spec.password {
            scenario::Password::Random if !self.options.binary.is_found() => Some(Password::create(&site.dir)?),
            // What a stack requires is not known here.
            scenario::Password::Random | scenario::Password::Off => None,
        };
        let etcd = match &self.etcd {
            Some(program) => {
                let members = ports.iter().filter(|(name, _)| name.role == Role::Etcd);
                let place = |(name, ports): &(NodeName, NodePorts)| {
                    Some((name.host?, [ports.port, ports.bus?].map(ports::loopback)))
                };
                let places = members.filter_map(place).collect();
                Some(Etcd::new(program.clone(), places, &ground.dir, password.as_ref())?)
            }
            None => None,
        };
        Ok(Plan {
            spec: self.spec.clone(),
            options: self.options.clone(),
            password,
            etcd,
            preload: match self.options.preload {
                true => Some(control::install(&ground.dir)?),
                false => None,
            },
            ground,
            doors: doors.places(),
            key_prefix: key_prefix(self.spec),
        })
    }

    /// Starts the nodes and the proxy, and lets those work together that do.
    async fn servers(
        &self,
        site: &Site,
        ground: Ground,
        doors: Doors,
        ports: Vec<(NodeName, NodePorts)>,
    ) -> Result<(Nodes, Option<Proxy>), LabError> {
        let plan = self.plan(site, ground, &doors, &ports)?;
        self.awaited.servers(self.spec.processes());
        let nodes = Nodes::start(&site.client, plan, ports).await?;
        if self.options.binary.is_found() {
            stack::adopt(&nodes).await?;
        }
        let behind = |node: &Node| Behind {
            name: node.name,
            address: node.follow(),
            life: node.is_ours.then(|| site.client.life(node.id)),
        };
        let proxy = match self.options.proxy {
            true => Some(
                Proxy::start(doors, nodes.all().map(behind))
                    .await
                    .map_err(LabError::Proxy)?,
            ),
            false => None,
        };
        let entrance = |node: &Node| door(proxy.as_ref(), node, None).unwrap_or_else(|| node.access());
        let replicated = async {
            match &self.spec.replicated {
                Some(spec) => replication::establish(&nodes, spec, entrance, self.awaited).await,
                None => Ok(()),
            }
        };
        let cluster = async {
            match &self.spec.cluster {
                Some(_) => cluster::establish(&nodes, self.awaited).await,
                None => Ok(()),
            }
        };
        let etcd = async {
            match &nodes.plan.etcd {
                Some(etcd) => etcd.establish(self.awaited).await,
                None => Ok(()),
            }
        };
        tokio::try_join!(replicated, cluster, etcd)?;
        running::announce(&site.dir, &nodes)?;
        Ok((nodes, proxy))
    }
}

/// Checks that nodes of this kind can do what the lab is for.
fn can_be_played(spec: &LabSpec, options: &LabOptions) -> Result<(), LabError> {
    if spec.cluster.is_some() && options.binary.version < CLUSTER_SINCE {
        let why = "a cluster needs 7.0: install a newer one, or name one with --server-bin PATH";
        return Err(options.binary.too_old(why));
    }
    if spec.etcd && options.binary.containers.is_some() {
        let why = "locks on etcd need servers that are processes: play this scenario with --lab process";
        return Err(LabError::Other(why.to_owned()));
    }
    if options.cuts && options.binary.containers.is_none() {
        return Err(LabError::CutsNeedContainers);
    }
    match control::is_possible(options.binary.containers.is_some()) {
        false if options.preload => Err(LabError::Other(
            "faults of clocks and power need servers that are processes on 64-bit Linux: play this scenario there, with --lab process".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Doors for the nodes of the hosts, if there is a proxy. Nodes that reach each other need addresses of their own for that.
fn doors(names: &[NodeName], options: &LabOptions) -> Result<Doors, LabError> {
    if !options.proxy {
        return Ok(Doors::default());
    }
    let has_door = |name: &NodeName| name.host.is_some() && (name.role == Role::Lock || source::of(*name).is_some());
    let on_hosts = || names.iter().copied().filter(has_door);
    // The doors are on loopback, where containers don't reach them.
    if options.binary.containers.is_some() && on_hosts().any(|node| source::of(node).is_some()) {
        let why = "faults of the network between replicated nodes need nodes that are processes: play this scenario with --lab process";
        return Err(LabError::Other(why.to_owned()));
    }
    for node in on_hosts() {
        let Some(address) = source::of(node) else { continue };
        if options.binary.flavour == Flavour::Redis && options.binary.version < Version(7, 0, 0) {
            let why = "faults of the network between hosts need Redis 7.0, or any Valkey";
            return Err(options.binary.too_old(why));
        }
        TcpListener::bind((address, 0)).map_err(|why| {
            LabError::Other(format!(
                "{node} cannot use the address {address} ({why}): faults of the network between hosts need all of 127.0.0.0/8, as on \
                 Linux"
            ))
        })?;
    }
    let ways = (1..=options.routes).map(|server| Some(ServerId(server)));
    let of_servers = ways.flat_map(|of| {
        on_hosts()
            .filter(|node| node.role == Role::Lock)
            .map(move |node| DoorName { node, of })
    });
    let of_all = on_hosts().map(|node| DoorName { node, of: None });
    Doors::of(&of_all.chain(of_servers).collect::<Vec<_>>())
}

/// What the keys of a run begin with on nodes that are not ours, where others have keys, too.
fn key_prefix(spec: &LabSpec) -> String {
    match spec.are_ours() {
        true => String::new(),
        false => format!("lockstorm:{:08x}:", rand::random::<u32>()),
    }
}

/// The ports from `first` on that the scenario asks for, if all are free.
fn fixed_ports(first: u16, names: &[NodeName]) -> Result<Vec<u16>, LabError> {
    let count = names.len();
    let ports: Vec<u16> = (first..=u16::MAX).take(count).collect();
    if ports.len() < count {
        return Err(LabError::PortRange { port: first, count });
    }
    for (&port, &node) in ports.iter().zip(names) {
        ports::check(port).map_err(|why| LabError::PortTaken { port, why, node })?;
    }
    Ok(ports)
}
