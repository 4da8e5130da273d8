//! What became of one case: its rounds, and what they come to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::Trouble;
use super::contender::Contender;
use super::metric::Metric;
use super::run::Run;
use super::statistics::Spread;

/// A case that can't be measured on this machine, or by this build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// What is missing.
    pub why: String,
}

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// App servers.
    pub servers: usize,
    /// Tasks on each.
    pub tasks: usize,
    /// Hosts, and so lock nodes.
    #[serde(default = "three")]
    pub hosts: usize,
    /// Whether clients talked to the nodes over TLS.
    #[serde(default)]
    pub tls: bool,
    /// What the tasks do, in a word or two.
    pub load: LoadKind,
    /// What befell the nodes.
    pub trouble: Trouble,
    /// The TTL of the locks.
    pub ttl_ms: f64,
    /// The time inside the lock, as it was asked for; timers make it longer.
    pub hold_ms: f64,
    /// The mean pause of a task before each acquire.
    pub think_ms: f64,
    /// How long the measured part took.
    pub measured_s: f64,
    /// How each contender was set up.
    pub settings: BTreeMap<Contender, BTreeMap<String, String>>,
    /// One for each round.
    pub rounds: Vec<RoundResult>,
    /// Medians and quartiles over all rounds.
    pub summary: Vec<Summary>,
    /// The engine's figure divided by the peer's, round by round, and the medians and quartiles of that.
    pub ratios: Vec<Ratio>,
}

/// The hosts of every case before there were others.
const fn three() -> usize {
    3
}

/// What the tasks of a case did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// Each task its own key.
    OwnKeys,
    /// All tasks one key.
    OneKey,
    /// Locks held and renewed.
    Renewal,
}

/// One round: all contenders, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundResult {
    /// In the order in which they ran; it rotates from round to round.
    pub runs: Vec<Run>,
}

impl RoundResult {
    /// What this contender did, if it took part.
    #[must_use]
    pub fn of(&self, contender: Contender) -> Option<&Run> {
        self.runs.iter().find(|run| run.contender == contender)
    }
}

/// One contender over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Who.
    pub contender: Contender,
    /// What could be measured.
    pub metrics: BTreeMap<Metric, Spread>,
    /// Why rounds of it failed, the first reason.
    pub error: Option<String>,
}

/// The engine beside one peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The peer.
    pub peer: Contender,
    /// What could be measured of both.
    pub metrics: BTreeMap<Metric, Spread>,
}
