//! The result of one case: its rounds and their summary.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::case::{LoadKind, Trouble};
use super::contender::Contender;
use super::figures::Run;
use super::metric::Metric;
use super::statistics::Quartiles;
use lockstorm_data::model::in_us;

/// A case that can't be measured on this machine, or by this build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// App servers.
    pub servers: usize,
    /// Tasks on each app server.
    pub tasks: usize,
    /// Hosts, each with one lock node.
    pub hosts: usize,
    /// Whether clients talked to the nodes over TLS.
    pub tls: bool,
    /// The bytes a second that the link to each node carries in each direction; null: as many as the machine can.
    pub link: Option<u64>,
    /// What the tasks do.
    pub load: LoadKind,
    /// What went wrong with the nodes.
    pub trouble: Trouble,
    /// The TTL of the locks.
    #[serde(rename = "ttl_us", with = "in_us")]
    pub ttl: Duration,
    /// The time inside the lock that was asked for; timers make it longer.
    #[serde(rename = "hold_us", with = "in_us")]
    pub hold: Duration,
    /// The mean pause of a task before each acquire.
    #[serde(rename = "think_us", with = "in_us")]
    pub think: Duration,
    /// The length of the measured part.
    #[serde(rename = "measured_us", with = "in_us")]
    pub measured: Duration,
    /// How each contender was set up.
    pub settings: BTreeMap<Contender, BTreeMap<String, String>>,
    /// One for each round.
    pub rounds: Vec<RoundResult>,
    /// Medians and quartiles over all rounds.
    pub summary: Vec<Summary>,
    /// The engine's figure divided by the peer's in each round, with medians and quartiles.
    pub ratios: Vec<Ratio>,
}

/// One round: all contenders, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundResult {
    /// In the order in which they ran, which rotates from round to round.
    pub runs: Vec<Run>,
}

impl RoundResult {
    /// The run of this contender, if it took part.
    pub fn of(&self, contender: Contender) -> Option<&Run> {
        self.runs.iter().find(|run| run.contender == contender)
    }
}

/// One contender over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The contender.
    pub contender: Contender,
    /// The metrics that could be measured.
    pub metrics: BTreeMap<Metric, Quartiles>,
    /// The first reason why a round of it failed.
    pub error: Option<String>,
}

/// The engine beside one peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The peer.
    pub peer: Contender,
    /// The metrics that could be measured for both.
    pub metrics: BTreeMap<Metric, Quartiles>,
}
