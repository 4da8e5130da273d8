use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::acted::Acted;
use super::lab_order::LabOrder;
use super::logged::Logged;
use super::urls::Urls;
use lockstorm_data::model::HostId;

/// What the process that keeps a lab answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How the lab is.
    Status(Box<Status>),
    /// What became of each target, in the order of the request.
    Acted(Vec<Acted>),
    /// What was done to the lab.
    Log(Vec<Logged>),
    /// The request makes no sense for this lab.
    Refused(String),
    /// The lab is down: all its processes are gone, and its directory too.
    Down,
}

/// A lab that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its id.
    pub lab: String,
    /// Its run directory.
    pub directory: PathBuf,
    /// The process that keeps it.
    pub process: u32,
    /// Since when it is up, in UTC.
    pub since: String,
    /// For example `redis-server 7.0.15`.
    pub server: String,
    /// How it was ordered.
    pub order: LabOrder,
    /// How its hosts are.
    pub hosts: Vec<HostStatus>,
    /// The links with which something is wrong.
    #[serde(default)]
    pub links: Vec<LinkStatus>,
    /// Why nobody can tell how its hosts are now, if that is so.
    pub doubt: Option<String>,
    /// Where the cache node of the lab is. No fault hits it.
    pub cache: String,
    /// What programs need to use it.
    pub urls: Urls,
}

/// How a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its number.
    pub host: HostId,
    /// Whether its nodes answer.
    pub up: bool,
    /// Its nodes.
    pub nodes: Vec<NodeStatus>,
}

/// How a node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// What it is: `lock node`, `master`, `replica`, `Sentinel`.
    pub role: String,
    /// True for a master and false for a replica; null for other nodes, and while it is not up.
    #[serde(default)]
    pub is_master: Option<bool>,
    /// Where it is used: at the proxy, if there is one.
    pub address: String,
    /// Its state: `up`, or what is wrong with it and with its host's network, `down (killed)`.
    pub state: String,
    /// Since when, in UTC.
    pub since: String,
    /// For how long, in seconds.
    pub for_s: f64,
    /// The bytes that programs have sent to it and received from it through the proxy; null without one. A program that works while
    /// this stays as it is uses another address.
    #[serde(default)]
    pub client_bytes: Option<u64>,
}

/// What is wrong with a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Its name: `link:1-2`.
    pub link: String,
    /// What is wrong with it: `cut`.
    pub state: String,
    /// Since when, in UTC.
    pub since: String,
    /// For how long, in seconds.
    pub for_s: f64,
}
