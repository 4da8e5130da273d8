//! What a run shows of itself at one instant.

use std::sync::Arc;
use std::time::Duration;

use crate::schedule::Next;
use crate::show::outlasted::Outlasted;
use lockstorm_data::facts::{Caveat, Event};
use lockstorm_data::history::{Belief, DoubleHold};
use lockstorm_data::metrics::{Figures, RecentTenths, Series};
use lockstorm_data::model::{CauseKind, Conditions, HostId, NoVote, ReplicationRole, ServerId};
use lockstorm_data::scenario::Scenario;
use lockstorm_judge::{ArmEvidence, Evidence, Judgement, Stage, judge};
use lockstorm_lab::{NodeStats, Role};

/// The state of a run at one instant: all that the console and the progress line ever see. Plain data that does not change
/// once it is published; at most ten a second.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The number of this snapshot, from 0; each new one has the next number.
    pub number: u64,
    /// What is being run.
    pub scenario: Arc<Scenario>,
    /// For example `redis-server 7.0.15`.
    pub server: Arc<str>,
    /// The present phase.
    pub phase: Phase,
    /// Seconds of the measured part so far; negative in set-up and warm-up.
    pub elapsed: f64,
    /// The hosts in order.
    pub hosts: Vec<HostView>,
    /// The app servers in order.
    pub servers: Vec<ServerView>,
    /// The arms in the scenario's order.
    pub arms: Vec<ArmView>,
    /// The newest events, oldest first; at most [`Snapshot::EVENTS`].
    pub events: Arc<Vec<Event>>,
    /// What the scenario says a viewer should look at now.
    pub caption: Option<Arc<str>>,
    /// The present values of the knobs.
    pub knobs: Knobs,
    /// The act that goes on: the last one whose fault took effect.
    pub act: Option<Act>,
    /// What the scenario does next by itself; `None` if it does nothing more.
    pub next: Option<Next>,
    /// Whether the schedule is held: nothing of it happens before a step, and the load does not end.
    pub held: bool,
    /// When the load ends as planned, in seconds; `None` while the schedule is held.
    pub ends_at: Option<f64>,
    /// While the workers finish: how much longer the run waits for them.
    pub gives_up_in: Option<Duration>,
    /// Everything that a reader of the figures should know so far.
    pub caveats: Vec<Caveat>,
    /// The part of the load in which the threads of the app servers waited for a processor, once that is known.
    pub processor_wait: Option<f64>,
    /// The part of all processor time that other programs used while the load was on, once it has ended.
    pub used_by_others: Option<f64>,
    /// What could not be read or finished at the end. Empty if nothing is missing.
    pub partial: Vec<Caveat>,
}

impl Snapshot {
    /// The most events that a snapshot carries.
    pub const EVENTS: usize = 500;

    /// What it proves.
    #[must_use]
    pub fn judge(&self) -> Judgement {
        let arms = self.arms.iter().map(|arm| ArmEvidence {
            figures: &arm.figures,
            first_error: arm.first_error.as_deref(),
            is_stuck: arm.live.health != Health::Well && !arm.done,
            later: &arm.later,
        });
        judge(&Evidence {
            scenario: &self.scenario,
            stage: match self.phase {
                Phase::SetUp(_) | Phase::WarmUp | Phase::Running => Stage::Loaded,
                Phase::Draining => Stage::Draining,
                Phase::Finished { interrupted: false } => Stage::Ended,
                Phase::Finished { interrupted: true } | Phase::Failed(_) => Stage::Stopped,
            },
            elapsed: self.elapsed,
            processor_wait: self.processor_wait,
            used_by_others: self.used_by_others,
            caveats: &self.caveats,
            missing: &self.partial,
            arms: arms.collect(),
        })
    }

    /// The length of the load in whole seconds, at least one: as planned or, if the schedule was held, by tens as far as it is known.
    #[must_use]
    pub fn length(&self) -> u64 {
        let planned = self.scenario.duration.as_secs().max(1);
        let known = lockstorm_data::metrics::units::rounded(self.ends_at.unwrap_or(self.elapsed));
        if known <= planned {
            planned
        } else {
            known.div_ceil(10) * 10
        }
    }
}

/// An act of a scenario: a fault with a title, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Its number, from 1.
    pub number: usize,
    /// How many acts the scenario has.
    pub of: usize,
    /// Its name in a few words.
    pub title: Arc<str>,
    /// The key to try, and what it shows.
    pub teaches: Option<Arc<str>>,
}

/// The phases of a run, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The lab starts; the text says what the run waits for.
    SetUp(String),
    /// Load that does not count.
    WarmUp,
    /// The measured part.
    Running,
    /// The load has ended; workers finish, the ledger is read.
    Draining,
    /// The run is complete.
    Finished {
        /// Whether it was stopped before its end.
        interrupted: bool,
    },
    /// The run ended with this error.
    Failed(String),
}

/// One host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostView {
    /// Its id.
    pub id: HostId,
    /// What is wrong with it, and for how long; empty while it is up.
    pub conditions: Conditions<Duration>,
    /// Those of its nodes that this is about; empty if it is about all of them, or if it is up. Somebody may kill one process.
    pub affected: Vec<Role>,
    /// The port of its lock node.
    pub port: u16,
    /// The figures of its lock node, if it answers.
    pub stats: Option<NodeStats>,
    /// The role of its replicated node, if it has one that answers.
    pub role: Option<ReplicationRole>,
    /// Set if that node calls itself the master although another one has become it.
    pub old_master: Option<OldMaster>,
    /// How many of the cluster's masters it has; `None` if it has no node of a cluster that runs.
    pub cluster_masters: Option<usize>,
    /// Whether its member of etcd was elected as the leader last; `None` if it has none that runs.
    pub leads_etcd: Option<bool>,
    /// How far that node is behind its master; `None` if it is in step, or no replica.
    pub behind: Option<Behind>,
    /// The names of the arms whose only lock node it runs now.
    pub single_arms: Vec<String>,
    /// The last lines of its nodes' logs, each behind the name of its node; empty if the nodes are not ours.
    pub log: Arc<[String]>,
}

impl HostView {
    /// Whether nothing is wrong with its lock node.
    pub fn has_lock_node(&self) -> bool {
        let is_other = !self.affected.is_empty() && !self.affected.contains(&Role::Lock);
        self.conditions.is_up() || is_other
    }
}

/// A node that calls itself the master although another one has become it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldMaster {
    /// Whether it has granted a lock within the last second.
    pub still_grants: bool,
}

/// How far a replica is behind its master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// How long its master has had what it lacks.
    pub time: Duration,
    /// Whether it has got nothing for a second, although there is something to get.
    pub stands_still: bool,
}

/// One app server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Its id.
    pub id: ServerId,
    /// What is wrong with it, and for how long; empty while it is up.
    pub conditions: Conditions<Duration>,
    /// The same of the clients by which it acquires `client` locks; `None` if it has none, or the load has ended.
    pub clients: Option<Conditions<Duration>>,
}

impl ServerView {
    /// What is wrong with its clients alone: what is done to an app server is done to them, too.
    pub fn broken_clients(&self) -> Option<&Conditions<Duration>> {
        let clients = self.clients.as_ref();
        clients.filter(|clients| self.conditions.is_up() && !clients.is_up())
    }

    /// Whether nothing is wrong with it, nor with its clients.
    pub fn is_well(&self) -> bool {
        self.conditions.is_up() && self.broken_clients().is_none()
    }
}

/// One arm.
#[derive(Debug, Clone)]
pub struct ArmView {
    /// Its name.
    pub name: String,
    /// Counts since the start of the measured part.
    pub figures: Figures,
    /// One point a second; the newest one is of the second under way.
    pub series: Arc<Series>,
    /// The last five minutes by tenths of a second.
    pub recent_tenths: Arc<RecentTenths>,
    /// The votes that the newest released lock was held with, and the number of nodes; `None` for arms without lock nodes,
    /// or before the first release.
    pub votes: Option<(usize, usize)>,
    /// The nodes that the newest refused acquire lacked; empty while locks are granted.
    pub lacking: Vec<NoVote>,
    /// The locks that were given back last, oldest first.
    pub last_locks: Vec<LastLock>,
    /// The evidence of its first double hold and of the newest ones, in the order in which they were found.
    pub double_holds: Vec<DoubleHold>,
    /// What its sections say of shorter and longer TTLs.
    pub outlasted: Outlasted,
    /// Whether it has done all its requests.
    pub done: bool,
    /// Its state at this moment.
    pub live: Live,
    /// The error of its first failed request.
    pub first_error: Option<String>,
    /// What casts doubt on it later, if this is an earlier instant of a record.
    pub later: Vec<Caveat>,
}

/// A lock that was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastLock {
    /// Its key.
    pub key: String,
    /// Who held it, and how long.
    pub belief: Belief,
}

/// The state of an arm at this moment, from the nodes that it needs and the acquires that wait: ended requests say nothing
/// about those that are stuck.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Whether it can work.
    pub health: Health,
    /// Answers a second, over the last five seconds.
    pub per_second: f64,
    /// Attempts at its lock in the last five seconds that failed because nodes were missing.
    pub failed_attempts: u64,
    /// How long the oldest of its acquires has been waiting.
    pub oldest_wait: Option<Duration>,
}

/// Whether an arm can work.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Health {
    /// All that it needs is there.
    #[default]
    Well,
    /// The one node of its lock does not run.
    NodeDown(HostId),
    /// No replicated node that answers is a master.
    NoMaster,
    /// No node of the cluster takes writes.
    ClusterDown,
    /// Too few nodes of its lock run, or can have the key.
    NoQuorum {
        /// How many do.
        up: usize,
        /// How many there are.
        of: usize,
    },
    /// Its nodes run, but for a second or longer no acquire was granted, for this cause among others.
    NoVote(CauseKind),
    /// Its nodes run and there is work, but it has answered nobody for this long.
    Stalled(Duration),
}

impl Health {
    /// What it means for a lock on the nodes of these hosts which of them are up.
    pub fn of_nodes(hosts: &[HostId], is_up: impl Fn(HostId) -> bool) -> Self {
        match hosts {
            [] => Self::Well,
            [host] if is_up(*host) => Self::Well,
            [host] => Self::NodeDown(*host),
            hosts => {
                let of = hosts.len();
                let up = hosts.iter().filter(|host| is_up(**host)).count();
                if up > of / 2 {
                    Self::Well
                } else {
                    Self::NoQuorum { up, of }
                }
            }
        }
    }
}

/// The values that the user can turn while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knobs {
    /// TTL of all lock arms; `None` while they differ, or if no arm has one.
    pub ttl: Option<Duration>,
    /// Workers on each app server for each arm.
    pub workers: usize,
    /// Requests a second for each arm; `None` in a closed loop.
    pub rate: Option<f64>,
    /// Median of the hold time (`inventory`) or of the provider's time (`cache-fill`).
    pub hold: Duration,
    /// How many orders to turn a knob these values contain, whether or not they changed something.
    pub turns: u64,
}
