//! What a bench produced: one JSON file. `docs` of each field are the format's documentation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::Trouble;
use super::contender::Contender;
use super::figures::Figures;
use super::metric::Metric;
use super::statistics::Spread;
use super::target::Judged;
use crate::lab::NodeSettings;
use crate::run::Machine;

/// Everything one bench produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The version of this format: [`BenchRecord::FORMAT`].
    pub format: u32,
    /// The version of lockstorm.
    pub lockstorm: String,
    /// Whether this build has the feature `peers`.
    pub peers: bool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Where it ran.
    pub machine: Machine,
    /// The processor's name; none where it can't be told.
    pub cpu_model: Option<String>,
    /// The servers as they were started: lab after lab, where cases need different ones.
    pub nodes: Vec<NodeSettings>,
    /// How long the measured part of a round takes where the case does not stretch it.
    pub time_s: f64,
    /// Load before each measured part that is not counted.
    pub warm_up_ms: f64,
    /// How long after the load, all nodes being up again, keys left behind were counted.
    pub orphans_after_ms: f64,
    /// Rounds that were asked for.
    pub rounds: usize,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// One for each case, in the order in which they ran.
    pub cases: Vec<CaseResult>,
    /// Cases that were asked for and can't be measured here.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// The targets that could be judged.
    pub targets: Vec<Judged>,
}

impl BenchRecord {
    /// The version of the format that this program writes.
    pub const FORMAT: u32 = 1;
}

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

/// One contender in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who.
    pub contender: Contender,
    /// Why it could not be measured.
    pub error: Option<String>,
    /// The measured part.
    pub figures: Option<Figures>,
    /// The same load on healthy nodes, just before; only where the case breaks one.
    pub baseline: Option<Figures>,
    /// The mean time of an acquire that nobody competes with, before the load; only where tasks share a key.
    pub uncontended_us: Option<f64>,
    /// The memory of this process before the measured part, MiB.
    pub rss_before_mib: Option<f64>,
    /// The same after it.
    pub rss_after_mib: Option<f64>,
    /// From a node's first answer until a lock had the votes of all nodes; only where a node comes back, and only of
    /// clients that tell votes.
    pub back_in_use_ms: Option<f64>,
    /// Keys on the node that was up, 100 ms after the load ended; only without a quorum.
    pub survivor_keys: Option<u64>,
    /// Locks that were held and renewed, and lost all the same; only where locks are held for good.
    pub lost: Option<u64>,
    /// Keys left behind on each node.
    pub orphans: Vec<u64>,
}

impl Run {
    pub(super) const fn new(contender: Contender) -> Self {
        Self {
            contender,
            error: None,
            figures: None,
            baseline: None,
            uncontended_us: None,
            rss_before_mib: None,
            rss_after_mib: None,
            back_in_use_ms: None,
            survivor_keys: None,
            lost: None,
            orphans: Vec::new(),
        }
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
