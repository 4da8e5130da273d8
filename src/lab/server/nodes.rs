//! All nodes of a lab, by host.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::Mutex as Turn;

use crate::client::Client;
use crate::error::LabError;
use crate::imposed::Imposed;
use crate::server::node::{Node, Plan};
use crate::server::node_name::{NodeName, Role};
use crate::server::ports::NodePorts;
use crate::server::state::HostState;
use lockstorm_data::model::HostId;

/// A host with its nodes, which fail together.
#[derive(Debug)]
pub(crate) struct Host {
    pub id: HostId,
    pub nodes: Vec<Node>,
    pub imposed: Imposed,
}

impl Host {
    /// The host's state, made from what the keeper reports of its nodes.
    pub(crate) fn state(&self, client: &Client) -> HostState {
        let reported = self.nodes.iter().map(|node| client.slot(node.id).state);
        HostState::of_all(reported).with(self.imposed.conditions())
    }

    /// How much longer a round trip to this host takes because it lags.
    pub(crate) fn delay(&self) -> Duration {
        let (delay, direction) = self.imposed.lag();
        delay * direction.times()
    }
}

/// The nodes of a lab.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub plan: Arc<Plan>,
    pub hosts: Vec<Host>,
    /// The nodes that are not on a host.
    pub apart: Vec<Node>,
    /// Held while the list of their addresses is written for other programs.
    pub listing: Mutex<()>,
    /// Held while the master is moved from one to another, so that this happens once at a time.
    pub moving: Turn<()>,
}

impl Nodes {
    /// Starts these nodes on these ports: the Sentinels, then all others, so that a program that can't be a Sentinel is refused
    /// before anything else runs. A node whose port is taken gets another one, unless the ports are fixed. Nodes that are not ours are watched
    /// instead.
    pub(crate) async fn start(
        client: &Client,
        plan: Plan,
        layout: Vec<(NodeName, NodePorts)>,
    ) -> Result<Self, LabError> {
        let plan = Arc::new(plan);
        let (sentinels, others): (Vec<_>, Vec<_>) = layout
            .into_iter()
            .enumerate()
            .partition(|(_, (name, _))| name.role == Role::Sentinel);
        let mut nodes = Vec::new();
        for at_once in [sentinels, others] {
            let starting = at_once.into_iter().map(|(id, (name, ports))| {
                let plan = &plan;
                async move {
                    match plan.given(name) {
                        Some(url) => Node::watch(client, plan, id, name, url).await,
                        None => Node::start(client, plan, id, name, ports).await,
                    }
                }
            });
            nodes.extend(try_join_all(starting).await?);
        }
        nodes.sort_unstable_by_key(|node| node.id);
        Ok(Self::by_host(plan, nodes))
    }

    fn by_host(plan: Arc<Plan>, nodes: Vec<Node>) -> Self {
        let (mut hosts, mut apart): (Vec<Host>, _) = (Vec::new(), Vec::new());
        for node in nodes {
            let Some(id) = node.name.host else {
                apart.push(node);
                continue;
            };
            match hosts.iter_mut().find(|host| host.id == id) {
                Some(host) => host.nodes.push(node),
                None => hosts.push(Host {
                    id,
                    nodes: vec![node],
                    imposed: Imposed::default(),
                }),
            }
        }
        Self {
            plan,
            hosts,
            apart,
            listing: Mutex::default(),
            moving: Turn::default(),
        }
    }

    /// All nodes: those of the hosts in order, then the others.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Node> {
        self.hosts.iter().flat_map(|host| &host.nodes).chain(&self.apart)
    }

    /// The nodes of a role, in the order of the hosts.
    pub(crate) fn of(&self, role: Role) -> impl Iterator<Item = &Node> {
        self.all().filter(move |node| node.name.role == role)
    }

    pub(crate) fn get(&self, name: NodeName) -> Option<&Node> {
        self.all().find(|node| node.name == name)
    }

    pub(crate) fn host(&self, id: HostId) -> Result<&Host, LabError> {
        let host = self.hosts.iter().find(|host| host.id == id);
        let hosts = self.hosts.len();
        host.ok_or_else(|| LabError::Other(format!("there is no {id}: the lab has hosts 1 to {hosts}")))
    }
}
