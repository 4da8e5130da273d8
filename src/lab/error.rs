use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::install;
use super::node_name::NodeName;
use super::version::Version;
use crate::model::{Action, HostId, Obstacle};

/// Why the lab could not do what it was asked for; each says how to go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No server program on PATH.
    #[error(
        "no redis-server or valkey-server found: {}, or name one with --server-bin PATH",
        install::advice()
    )]
    NoServer,
    /// A file that is no server program, or cannot be run.
    #[error("{path} is not a redis-server: {why}", path = path.display())]
    NotAServer {
        /// The file.
        path: PathBuf,
        /// What it did instead of telling its version.
        why: String,
    },
    /// A server program that lacks commands the lab needs.
    #[error("{path} has version {version}, but 6.2 is the oldest that works: install a newer one, or name one with --server-bin PATH", path = path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: Version,
    },
    /// The directory for temporary files can't be used.
    #[error("{path} {why}: set TMPDIR to a directory that you can write to", path = path.display())]
    TempDir {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The directory in it that all labs of this user are in can't be used.
    #[error("{0}")]
    BaseDir(String),
    /// The keeper did not start.
    #[error("the keeper process did not start: {0}")]
    KeeperStart(String),
    /// The keeper ended while the lab was in use, and every server with it.
    #[error("the keeper process is gone ({0}), and all hosts with it: start again")]
    KeeperGone(String),
    /// No lab, or no node of one, to open a client on.
    #[error("{0}")]
    NotRunning(String),
    /// No command line client.
    #[error("no redis-cli or valkey-cli found: {}", install::advice())]
    NoClient,
    /// A directory or file of the lab could not be made.
    #[error("cannot create {path}: {source}", path = path.display())]
    Directory {
        /// What was to be made.
        path: PathBuf,
        /// Why it was not.
        source: io::Error,
    },
    /// A port that the scenario fixes, or that a host had before, can't be used.
    #[error("port {port} for {node} {why}: end what listens there, choose another lab.port, or leave it out")]
    PortTaken {
        /// The port.
        port: u16,
        /// That it is taken, or what else is wrong with it.
        why: String,
        /// Whose it should be.
        node: String,
    },
    /// Fixed ports that do not exist.
    #[error("lab.port = {port} leaves no room for {count} ports: the last port is 65535")]
    PortRange {
        /// The first port.
        port: u16,
        /// How many are needed.
        count: usize,
    },
    /// No port could be bound.
    #[error("no free port found on 127.0.0.1: {0}")]
    NoPort(String),
    /// A server ended before it answered.
    #[error("{node} did not start ({why}); the server's last words:{log}")]
    StartFailed {
        /// Which node.
        node: String,
        /// How it ended.
        why: String,
        /// The last lines of its log, each on a line of its own.
        log: String,
    },
    /// A server runs but does not answer as a Redis node.
    #[error("{node} did not answer at {address} within {waited:?} ({why}); the server's last words:{log}")]
    NotAnswering {
        /// Which node.
        node: String,
        /// Where it was asked.
        address: SocketAddr,
        /// How long.
        waited: Duration,
        /// What came instead of an answer.
        why: String,
        /// The last lines of its log, each on a line of its own.
        log: String,
    },
    /// A host that the lab does not have.
    #[error("there is no {host}: the lab has hosts 1 to {hosts}")]
    NoSuchHost {
        /// The host asked for.
        host: HostId,
        /// How many there are.
        hosts: usize,
    },
    /// An action that makes no sense in the host's present state.
    #[error("cannot {} {host}: it {obstacle}", action.verbs()[0])]
    Impossible {
        /// The action.
        action: Action,
        /// The host.
        host: HostId,
        /// Its condition, and what to do first.
        obstacle: Obstacle,
    },
    /// The action was sent, but its effect did not show.
    #[error("{action} of {node} could not be verified: {why}")]
    Unverified {
        /// The action.
        action: Action,
        /// The node on which it was missed.
        node: NodeName,
        /// What was missing.
        why: String,
    },
    /// The action was sent and its effect has not shown yet; it may still come.
    #[error("not verified within {within:?}")]
    NotYet {
        /// How long it was waited for.
        within: Duration,
    },
}
