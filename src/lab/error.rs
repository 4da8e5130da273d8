use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::server::install;
use crate::server::node_name::NodeName;
use crate::server::version::Version;
use lockstorm_data::model::{Action, HostId, Obstacle, Target};

/// Why the lab could not do what it was asked to; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No server program on PATH.
    #[error(
        "no redis-server or valkey-server found: {}, or name one with --server-bin PATH",
        install::advice()
    )]
    NoServer,
    /// The file is not a server program, or can't be run.
    #[error("{path} is not a redis-server: {why}", path = path.display())]
    NotAServer {
        /// The file.
        path: PathBuf,
        /// What it did instead of printing its version.
        why: String,
    },
    /// A server program that is too old for the lab, or for what it is to do.
    #[error("{path} has version {version}, but {why}", path = path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: Version,
        /// What needs a newer one, and what to do.
        why: &'static str,
    },
    /// The directory for temporary files can't be used.
    #[error("{path} {why}: set TMPDIR to a directory that you can write to", path = path.display())]
    TempDir {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The base directory in it, which all labs of this user share, can't be used.
    #[error("{0}")]
    BaseDir(String),
    /// A Docker engine, or an image, can't be used.
    #[error("{0}")]
    Docker(String),
    /// The keeper did not start.
    #[error("the keeper process did not start: {0}")]
    KeeperStart(String),
    /// The keeper ended while the lab was in use, and every server with it.
    #[error("the keeper process is gone ({0}), and all hosts with it: start again")]
    KeeperGone(String),
    /// There is no running lab, or it has no such node, to open a client on.
    #[error("{0}")]
    NotRunning(String),
    /// There is no command line client.
    #[error("no redis-cli or valkey-cli found: {}", install::advice())]
    NoClient,
    /// A directory or file of the lab could not be created.
    #[error("cannot create {path}: {source}", path = path.display())]
    Directory {
        /// The directory or file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
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
    /// No free port was found.
    #[error("no free port found on 127.0.0.1: {0}")]
    NoPort(String),
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
    /// A server that is not ours can't be asked.
    #[error("{node} ({url}) can't be reached: {why}")]
    NotReached {
        /// The node.
        node: NodeName,
        /// Its URL without its password.
        url: String,
        /// The reason.
        why: String,
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
    /// A host that the lab does not have.
    #[error("there is no {host}: the lab has hosts 1 to {hosts}")]
    NoSuchHost {
        /// The host that was asked for.
        host: HostId,
        /// How many hosts there are.
        hosts: usize,
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
    /// The replicated nodes, their Sentinels or the cluster are not ready.
    #[error("{node} is not ready to work with the others{}: {why}", after(*waited))]
    NotReady {
        /// The node that has what is missing, or should.
        node: NodeName,
        /// What is missing, or the node's error.
        why: String,
        /// How long the lab waited for it; zero after an error.
        waited: Duration,
    },
    /// The master of the replicated nodes could not be moved.
    #[error("there was no failover: {0}")]
    NoFailover(String),
    /// The proxy did not start.
    #[error("cannot start the proxy in front of the nodes: {0}")]
    Proxy(#[source] std::io::Error),
    /// A node can't have the address from which the proxy would know its connections.
    #[error(
        "{node} cannot use the address {address} ({why}): faults of the network between hosts need all of 127.0.0.0/8, as on \
         Linux"
    )]
    NoSource {
        /// The node.
        node: NodeName,
        /// The address.
        address: Ipv4Addr,
        /// What happened instead.
        why: io::Error,
    },
    /// Faults of the network between nodes that are containers.
    #[error(
        "faults of the network between replicated nodes need nodes that are processes: play this scenario with --lab process"
    )]
    LinksNeedProcesses,
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
    /// The action was sent, but its effect could not be verified.
    #[error("{action} of {node} could not be verified: {why}")]
    Unverified {
        /// The action.
        action: Action,
        /// The node that did not show the effect.
        node: NodeName,
        /// What was missing.
        why: String,
    },
    /// The effect of an action has not been verified yet; it may still come.
    #[error("not verified within {within:?}")]
    NotYet {
        /// How long the lab waited.
        within: Duration,
    },
}

/// ` after 30s`; nothing for zero.
fn after(waited: Duration) -> String {
    if waited.is_zero() {
        String::new()
    } else {
        format!(" after {waited:?}")
    }
}
