//! What a run shows of itself at one instant.

use std::sync::Arc;
use std::time::Duration;

use crate::metrics::{Figures, Series, Trace};
use crate::model::{CheckResult, Conditions, Event, HostId, NoVote, ServerId};
use crate::scenario::Scenario;

/// What a run looks like at one instant: all that the console and the progress line ever see. Plain data, never changed
/// once it is published; ten a second at most.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Counted from 0; a new snapshot has a new number.
    pub number: u64,
    /// What is being run.
    pub scenario: Arc<Scenario>,
    /// For example `redis-server 7.0.15`.
    pub server: Arc<str>,
    /// Where the run is.
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
    /// The knobs as they are now.
    pub knobs: Knobs,
    /// What the scenario will do by itself, the next first, a line each with its progress:
    /// `scheduled: bounce host 1 at 48 held, now 31`.
    pub scheduled: Vec<String>,
    /// While the workers finish: how long they will be waited for yet.
    pub gives_up_in: Option<Duration>,
    /// What could not be read or finished at the end, a sentence each. Empty while all is whole.
    pub partial: Vec<String>,
}

impl Snapshot {
    /// The most events that a snapshot carries.
    pub const EVENTS: usize = 500;
}

/// The phases of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The lab starts; the text says what is being waited for.
    SetUp(String),
    /// Load that is not counted.
    WarmUp,
    /// The measured part.
    Running,
    /// The load has ended; workers finish, the ledger is read.
    Draining,
    /// All is done.
    Finished {
        /// Whether it was stopped before its end.
        interrupted: bool,
        /// For each expectation of the scenario, in order: what became of it, and a sentence.
        expectations: Vec<(CheckResult, String)>,
    },
    /// The run ended with this error.
    Failed(String),
}

/// One host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostView {
    /// Which.
    pub id: HostId,
    /// What is wrong with it, and for how long; nothing while it is up.
    pub conditions: Conditions<Duration>,
    /// The port of its lock node.
    pub port: u16,
    /// The figures of its lock node, when it answers.
    pub stats: Option<NodeFigures>,
    /// The names of the `single` arms whose node it runs.
    pub single_arms: Vec<String>,
}

/// What a node says of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeFigures {
    /// Commands a second.
    pub ops_per_sec: u64,
    /// Keys it holds.
    pub keys: u64,
    /// Memory it uses, in bytes.
    pub used_memory: u64,
    /// Round trip of a PING.
    pub ping: Duration,
}

/// One app server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Which.
    pub id: ServerId,
    /// What is wrong with it, and for how long; nothing while it is up.
    pub conditions: Conditions<Duration>,
}

/// One arm.
#[derive(Debug, Clone)]
pub struct ArmView {
    /// Its name.
    pub name: String,
    /// What it is, in two words.
    pub label: String,
    /// Counts since the start of the measured part.
    pub figures: Figures,
    /// One point a second; the newest is of the second under way.
    pub series: Arc<Series>,
    /// The last five minutes by tenths of a second.
    pub trace: Arc<Trace>,
    /// The votes that the newest released lock was held with and the number of nodes asked; none for arms without nodes or
    /// before the first.
    pub votes: Option<(usize, usize)>,
    /// The nodes that the newest acquire lacked which was refused for that; empty while all is well.
    pub lacking: Vec<NoVote>,
    /// Whether it has done all its requests.
    pub done: bool,
    /// Seconds of the measured part that it took for them; none while it is not done.
    pub finish: Option<f64>,
    /// How it fares now.
    pub live: Live,
    /// Why nothing good can be said of it, whatever its figures are: what was lost, a fault of the scenario that did not take
    /// effect (known at the end), too many failed requests.
    pub doubt: Option<String>,
}

/// How an arm fares at this moment, from the nodes that it needs and the acquires that wait: ended requests say nothing of
/// those that are stuck.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Whether it can work.
    pub health: Health,
    /// Answers a second, over the last five seconds.
    pub per_second: f64,
    /// Attempts at its lock in the last five seconds that failed for lack of nodes.
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
    /// Too few nodes of its lock run.
    NoQuorum {
        /// So many run.
        up: usize,
        /// So many there are.
        of: usize,
    },
    /// Its nodes run, and it has answered nobody for so long although there is work.
    Stalled(Duration),
}

/// The values that can be turned while a run goes on. None: the scenario has no such value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knobs {
    /// TTL of all lock arms; none while they differ.
    pub ttl: Option<Duration>,
    /// Workers on each app server for each arm.
    pub workers: usize,
    /// Requests a second for each arm; none in a closed loop.
    pub rate: Option<f64>,
    /// Median of the hold time (`inventory`) or of the provider's time (`cache-fill`).
    pub hold: Duration,
}
