use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::server::install;
use crate::server::node_name::NodeName;
use lockstorm_data::model::{Action, HostId, Lack, Obstacle, Target};

/// Why the lab could not do what it was asked to; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No server program on PATH.
    #[error(
        "no redis-server or valkey-server found: {}, or name one with --server-bin PATH",
        install::advice()
    )]
    NoServer,
    /// The keeper did not start.
    #[error("the keeper process did not start: {0}")]
    KeeperStart(String),
    /// The keeper ended while the lab was in use, and every server with it.
    #[error("the keeper process is gone ({0}), and all hosts with it: start again")]
    KeeperGone(String),
    /// A port that the scenario fixes, or that a host had before, is not available.
    #[error("port {port} for {node} {why}: end what listens there, choose another lab.port, or leave it out")]
    PortTaken {
        /// The port.
        port: u16,
        /// What is wrong with it, for example that it is taken.
        why: String,
        /// The node that needs it.
        node: NodeName,
    },
    /// The scenario's fixed ports go beyond the last port.
    #[error("lab.port = {port} leaves no room for {count} ports: the last port is 65535")]
    PortRange {
        /// The first port.
        port: u16,
        /// How many ports are needed.
        count: usize,
    },
    /// A server ended before it answered.
    #[error("{node} did not start ({why}); the end of its log:{log}")]
    StartFailed {
        /// The node.
        node: NodeName,
        /// How it ended.
        why: String,
        /// The last lines of its log, each on a line of its own.
        log: String,
    },
    /// An action that needs a process of ours.
    #[error(
        "{0} is not ours (lab.nodes): its server can't be {1}; only a lag, and faults of app servers, are possible"
    )]
    NotOurs(HostId, &'static str),
    /// A server runs but does not answer as a Redis node.
    #[error("{node} did not answer at {address} within {waited:?} ({why}); the end of its log:{log}")]
    NotAnswering {
        /// The node.
        node: NodeName,
        /// Its address.
        address: SocketAddr,
        /// How long the lab waited.
        waited: Duration,
        /// What it got instead of an answer.
        why: String,
        /// The last lines of its log, each on a line of its own.
        log: String,
    },
    /// An action that makes no sense in its target's present state.
    #[error("cannot {} {target}: it {obstacle}", action.verbs()[0])]
    Impossible {
        /// The action.
        action: Action,
        /// Its target.
        target: Target,
        /// Its condition, and what to do first.
        obstacle: Obstacle,
    },
    /// The proxy did not start.
    #[error("cannot start the proxy in front of the nodes: {0}")]
    Proxy(#[source] io::Error),
    /// Cutting off a host that is no container.
    #[error(
        "a host that is a process can't be cut off from its network: play this scenario with --lab docker, or cut links"
    )]
    CutsNeedContainers,
    /// A fault of the network in a lab without a proxy.
    #[error("the network to {0} can't be changed: this lab has no proxy, which only scenarios with such a fault have")]
    NoProxy(Target),
    /// A fault of a link over which nothing passes that could be measured.
    #[error(
        "{} could not be verified: no nodes that run have anything to say over it now", action.on(*target)
    )]
    Unmeasurable {
        /// The action.
        action: Action,
        /// The link.
        target: Target,
    },
    /// The effect of an action has not been verified yet; it may still come.
    #[error("not verified within {within:?}")]
    NotYet {
        /// How long the lab waited.
        within: Duration,
    },
    /// Anything else that is wrong, or in the way, in whole words.
    #[error("{0}")]
    Other(String),
}

impl LabError {
    /// That an obstacle is in the way of an action.
    pub(crate) fn of(action: Action, target: Target, obstacle: Obstacle) -> Self {
        match (obstacle, target) {
            (Obstacle::Lacks(Lack::OwnHosts), Target::Host(host)) => Self::NotOurs(host, action.verbs()[2]),
            (Obstacle::Lacks(Lack::Replicas), Target::Host(_)) => {
                Self::Other("there was no failover: this lab has no replicated nodes".to_owned())
            }
            (Obstacle::Lacks(Lack::Replicas), _) => Self::Unmeasurable { action, target },
            (Obstacle::Lacks(Lack::Containers), _) => Self::CutsNeedContainers,
            (Obstacle::Lacks(Lack::Proxy), _) => Self::NoProxy(target),
            (Obstacle::Lacks(Lack::Preload), _) => Self::Other(format!(
                "cannot {}: its servers were started without our library",
                action.on(target)
            )),
            (obstacle, _) => Self::Impossible {
                action,
                target,
                obstacle,
            },
        }
    }

    /// That this directory or file of the lab could not be created.
    pub(crate) fn cannot_create(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Other(format!("cannot create {}: {error}", path.display()))
    }
}
