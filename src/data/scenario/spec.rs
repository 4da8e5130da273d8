//! The parts of a validated scenario. Every value in them is possible and consistent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::database_url::DatabaseUrl;
use super::expectation::Trigger;
use super::lock::{Follow, LockKind, LockNodes, Topology, Voter};
use super::node_url::NodeUrl;
use crate::metrics::units::counted;
use crate::model::{Action, Condition, Fault, HostId, Lack, Seat, TargetKind, Targets, Wait, WaitInUs, in_us};

/// The hosts of the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabSpec {
    /// How many hosts, 1 to 9.
    pub hosts: usize,
    /// What a lock node keeps when it is restarted.
    pub persistence: Persistence,
    /// The port of host 1; host n listens on `port + n - 1`, and the cache node on `port + hosts`. `None`: free ports are
    /// chosen.
    pub port: Option<u16>,
    /// Whether nodes require a password.
    #[serde(default)]
    pub password: Password,
    /// The replicated nodes and their Sentinels; `None` if no arm uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicated: Option<ReplicatedSpec>,
    /// The cluster; `None` if no arm uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSpec>,
    /// Whether there is an etcd, with a member on each host.
    #[serde(default, skip_serializing_if = "is_false")]
    pub etcd: bool,
    /// The lock nodes, one for each host, if they are not ours; `None`: they are processes of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<GivenNodes>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl LabSpec {
    /// The longest TTL of a lock on nodes that are not ours. Whatever happens to us, nothing of ours stays there for longer.
    pub const LONGEST_TTL_ELSEWHERE: Duration = Duration::from_mins(10);

    /// So many hosts with a lock node each that keeps nothing, on free ports and with a password.
    pub const fn of(hosts: usize) -> Self {
        Self {
            hosts,
            persistence: Persistence::None,
            port: None,
            password: Password::Random,
            replicated: None,
            cluster: None,
            etcd: false,
            nodes: None,
        }
    }

    /// Whether the lock nodes are processes of our own, which can be broken.
    pub const fn are_ours(&self) -> bool {
        self.nodes.is_none()
    }

    /// What it lacks that faults need, with or without `containers`, a `proxy`, and servers with our library (`preload`).
    pub fn lacks(&self, containers: bool, proxy: bool, preload: bool) -> Vec<Lack> {
        let all = [
            (Lack::OwnHosts, self.are_ours()),
            (Lack::Replicas, self.replicated.is_some()),
            (Lack::Containers, containers),
            (Lack::Proxy, proxy),
            (Lack::Preload, preload),
        ];
        let lacked = all.into_iter().filter(|(_, has)| !has);
        lacked.map(|(lack, _)| lack).collect()
    }

    /// How many server processes the lab has: on each host a lock node, and if there are replicated nodes one of them and a
    /// Sentinel; on each host of the cluster two of its nodes; one of etcd; and the cache node. Lock nodes that are not ours are none of them.
    pub fn processes(&self) -> usize {
        let on_each = match (self.are_ours(), &self.replicated) {
            (false, _) => 0,
            (true, None) => 1,
            (true, Some(_)) => 3,
        };
        let in_cluster = self.cluster.as_ref().map_or(0, |_| 2 * self.cluster_hosts());
        self.hosts * (on_each + usize::from(self.etcd)) + in_cluster + 1
    }

    /// How many hosts, from the first, have nodes of the cluster, if there is one.
    pub fn cluster_hosts(&self) -> usize {
        self.hosts.min(ClusterSpec::HOSTS)
    }
}

/// Lock nodes that are not ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenNodes {
    /// Their URLs, in the order of the hosts.
    pub urls: Vec<NodeUrl>,
    /// The environment variable that these came from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls_env: Option<String>,
    /// Who else can read the passwords in the place where they were written, and how to prevent that.
    #[serde(skip)]
    pub exposed: Option<String>,
}

/// A master with a replica on each other host, and a Sentinel on every host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicatedSpec {
    /// How long a Sentinel waits for an answer before it takes a node for down.
    #[serde(rename = "down_after_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub down_after: Duration,
    /// How long a Sentinel waits before it tries a failover again.
    #[serde(rename = "failover_timeout_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub failover_timeout: Duration,
    /// With fewer replicas that are not too far behind, the master refuses writes; 0: it never does.
    pub min_replicas_to_write: usize,
    /// How far behind a replica may be to count for that, a multiple of one second.
    #[serde(rename = "min_replicas_max_lag_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub min_replicas_max_lag: Duration,
    /// The host whose replica Sentinels choose before all others, however far behind it is (its `replica-priority` is 1, that of
    /// the others 100); `None`: they choose the most advanced one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_host: Option<HostId>,
    /// How often Sentinels ask their nodes for roles and tell each other what they know; `None`: as seldom as they do by
    /// themselves, every 10 s and every 2 s. No real deployment has another value.
    #[serde(rename = "sentinel_period_us", with = "in_us")]
    #[schemars(with = "Option<u64>")]
    pub sentinel_period: Option<Duration>,
}

impl Default for ReplicatedSpec {
    fn default() -> Self {
        Self {
            down_after: Duration::from_secs(3),
            failover_timeout: Duration::from_secs(10),
            min_replicas_to_write: 0,
            min_replicas_max_lag: Duration::from_secs(10),
            preferred_host: None,
            sentinel_period: None,
        }
    }
}

/// A Redis Cluster on three hosts: a master on each, with its replica on another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterSpec {
    /// How long a node may be silent before the others take it for down.
    #[serde(rename = "node_timeout_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub node_timeout: Duration,
    /// Whether all nodes refuse all keys while a part of the slots has no master.
    pub require_full_coverage: bool,
}

impl ClusterSpec {
    /// How many hosts it is on: the first ones of the lab.
    pub const HOSTS: usize = 3;
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            node_timeout: Duration::from_secs(2),
            require_full_coverage: true,
        }
    }
}

/// Whether the nodes of a lab require a password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Password {
    /// A random password for each lab, which only this user can read.
    #[default]
    Random,
    /// No password: everybody who can reach a port of the lab can do anything there.
    Off,
}

/// What a lock node keeps when it is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing.
    None,
    /// A snapshot at shutdown (SIGTERM), and every 60 s; a kill loses what was written after it.
    Rdb,
    /// An append-only file synced once a second.
    AofEverysec,
    /// An append-only file synced before each reply.
    AofAlways,
}

/// The load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwarmSpec {
    /// App servers.
    pub servers: usize,
    /// Workers on each app server, for each arm.
    pub workers: usize,
    /// Requests a second for each arm (open loop); `None`: closed loop.
    pub rate: Option<f64>,
    /// Which app server a request goes to (open loop only).
    pub balance: Balance,
    /// How requests are spaced (open loop only).
    pub arrivals: Arrivals,
    /// Requests for each arm, after which the arm is done; `None`: until `duration` ends.
    pub requests: Option<u64>,
    /// The time at the start over which the load grows linearly to its full size.
    #[serde(rename = "ramp_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub ramp: Duration,
    /// Mean of the exponentially distributed pause of a worker between two requests (closed loop only).
    #[serde(rename = "think_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub think: Duration,
    /// For how long the load of one arm goes on alone before it is the next one's turn (closed loop only): a multiple of
    /// 1,000,000; `None`: all arms at once.
    #[serde(
        rename = "turns_us",
        with = "in_us",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub turns: Option<Duration>,
}

/// Which app server a request of an open loop goes to. Request i goes to the same one in every arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// One after the other.
    RoundRobin,
    /// At random, from the seed.
    Random,
    /// The one with the fewest requests queued or under way, over all arms.
    LeastBusy,
}

/// How requests of an open loop are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly. With constant holds, requests then either never overlap, or always do.
    Even,
    /// At random, as from many independent users: a Poisson process, drawn from the seed.
    Poisson,
}

/// How often each key or product is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// All equally often.
    Uniform,
    /// Zipf's law with this exponent, > 0.
    Zipf(f64),
}

/// A log-normal duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceTime {
    /// The median; zero means that no time passes.
    #[serde(rename = "median_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub median: Duration,
    /// The standard deviation of the logarithm; 0 means a constant time.
    pub sigma: f64,
}

impl ServiceTime {
    /// No time.
    pub const ZERO: Self = Self::constant(Duration::ZERO);

    /// A constant time.
    pub const fn constant(time: Duration) -> Self {
        Self {
            median: time,
            sigma: 0.0,
        }
    }

    /// Its mean in seconds.
    pub fn mean(self) -> f64 {
        self.median.as_secs_f64() * (self.sigma * self.sigma / 2.0).exp()
    }

    /// Its 99th percentile in seconds.
    pub fn p99(self) -> f64 {
        /// The 99th percentile of the standard normal distribution.
        const Z99: f64 = 2.326;
        self.median.as_secs_f64() * (self.sigma * Z99).exp()
    }
}

/// The database behind the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseSpec {
    /// `sqlite` (embedded, a file for each arm) or a `postgres://` URL (a schema for each arm).
    pub url: DatabaseUrl,
    /// The environment variable that the URL came from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_env: Option<String>,
    /// Who else can read the password in the place where it was written, and how to prevent that.
    #[serde(skip)]
    pub exposed: Option<String>,
    /// Time added to each read, during which its connection is held: a provider's call, or a read of the stock.
    pub read: ServiceTime,
    /// Connections of each app server and arm.
    pub pool: u32,
}

/// One lock strategy under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmSpec {
    /// Its name, unique.
    pub name: String,
    /// The lock.
    pub lock: LockKind,
    /// Of a `client` lock, the program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Time to live of the lock's keys.
    #[serde(rename = "ttl_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub ttl: Duration,
    /// How often a held lock is extended.
    pub renew: Renew,
    /// What happens if the lock is not free.
    #[serde(with = "WaitInUs")]
    #[schemars(with = "WaitInUs")]
    pub wait: Wait,
    /// The longest that one acquire may take, waiting included.
    #[serde(rename = "timeout_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub timeout: Duration,
    /// How long to wait for one node's reply; shorter than `ttl`.
    #[serde(rename = "node_timeout_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub node_timeout: Duration,
    /// How the nodes of its lock relate to each other.
    #[serde(default)]
    pub topology: Topology,
    /// Which of the replicated nodes its lock uses.
    #[serde(default)]
    pub follow: Follow,
    /// How many replicas must confirm a lock or its extension before it counts; 0: none is asked.
    #[serde(default)]
    pub wait_replicas: usize,
    /// How long the master waits for them; whole milliseconds, shorter than `ttl`.
    #[serde(rename = "wait_timeout_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub wait_timeout: Duration,
    /// The host whose node a `single` lock uses; the first master of a replicated one.
    pub host: HostId,
    /// On how many hosts, from the first one on, a `redlock` has its nodes; `None`: on all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<usize>,
    /// `inventory`: how the stock is written.
    pub update: Update,
    /// `inventory`: where the stock checks the holder's token.
    pub fence: Fence,
    /// `cache-fill`: whether a reader without the lock gets stale data, if there is any.
    pub serve_stale: bool,
    /// `cache-fill`: whether the cache is read again once the lock is held.
    pub second_look: bool,
    /// What the holder does when it learns that its lock is lost.
    pub on_loss: OnLoss,
    /// The longest that a lock may be held, however often it is renewed; `None`: without end.
    #[serde(
        rename = "lifetime_us",
        with = "in_us",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub lifetime: Option<Duration>,
    /// What a worker does that can't get its lock because nodes are missing.
    #[serde(default)]
    pub on_outage: OnOutage,
    /// `inventory`: whether the lock is released before the work is written.
    #[serde(default)]
    pub release: Release,
    /// `payment`: which locks a payment takes.
    #[serde(default)]
    pub locks: AccountLocks,
}

impl ArmSpec {
    /// The name of the keys of one of its locks, all of which begin with this prefix.
    pub fn key(&self, prefix: &str, lock: &str) -> String {
        format!("{prefix}{}:{lock}", self.name)
    }

    /// Whether its lock is on a master that a replica may replace: on the replicated nodes, or on the cluster.
    pub fn has_master(&self) -> bool {
        self.topology == Topology::Replicated || self.nodes() == LockNodes::Cluster
    }

    /// Whether its lock is on the independent nodes of hosts, however many.
    pub fn lock_is_on_hosts(&self) -> bool {
        matches!(self.nodes(), LockNodes::OneHost | LockNodes::EveryHost)
    }

    /// The lock nodes that the arm's lock uses.
    pub const fn nodes(&self) -> LockNodes {
        self.lock.nodes_in(self.topology, self.follow)
    }

    /// The nodes of the arm's lock, in the order in which the lock numbers them.
    pub fn voters(&self, lab: &LabSpec) -> Vec<Voter> {
        let first = |hosts| (0..hosts).map(HostId::from_index).map(Voter::Host).collect();
        match self.nodes() {
            LockNodes::Nowhere => Vec::new(),
            LockNodes::OneHost | LockNodes::FirstMaster => vec![Voter::Host(self.host)],
            LockNodes::EveryHost => first(self.hosts.unwrap_or(lab.hosts)),
            LockNodes::ClusterMasters => first(lab.cluster_hosts()),
            LockNodes::Master => vec![Voter::Master],
            LockNodes::Cluster => vec![Voter::Cluster],
        }
    }

    /// The hosts of this lab that the nodes of the arm's lock are always on.
    pub fn hosts_in(&self, lab: &LabSpec) -> Vec<HostId> {
        self.voters(lab).into_iter().filter_map(Voter::host).collect()
    }

    /// A few words for tables: the lock, and its fence if it has one.
    pub fn label(&self) -> String {
        self.label_of(self.lock.row().label)
    }

    /// The same of a lock with another name: a client's own.
    pub fn label_of(&self, lock: &str) -> String {
        let on = match self.nodes() {
            LockNodes::Master => ", by Sentinel".to_owned(),
            LockNodes::FirstMaster => ", first master".to_owned(),
            LockNodes::OneHost => format!(", {}", self.host),
            LockNodes::ClusterMasters => ", cluster masters".to_owned(),
            LockNodes::EveryHost => match self.hosts {
                Some(hosts) => format!(", {}", counted(hosts as u64, "host", "hosts")),
                None => String::new(),
            },
            LockNodes::Nowhere | LockNodes::Cluster => String::new(),
        };
        let lock = match (self.update, self.wait_replicas) {
            (Update::Atomic, _) => "atomic update".to_owned(),
            (Update::RowLock, _) => "row lock".to_owned(),
            (_, 0) => format!("{lock}{on}"),
            (_, replicas) => format!("{lock}{on}, WAIT {replicas}"),
        };
        match self.fence {
            Fence::Off => lock,
            Fence::Write => format!("{lock}, write fence"),
            Fence::ReadWrite => format!("{lock}, read-write fence"),
        }
    }
}

/// How often a held lock is extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Renew {
    /// Never.
    Off,
    /// Every `ttl / n`, where n is 2 to 9.
    Fraction(u32),
    /// At this interval, which is shorter than the TTL.
    #[serde(rename = "every_us", with = "in_us")]
    #[schemars(with = "u64")]
    Every(Duration),
}

impl Renew {
    /// The n of `ttl/n`, from 2 to 9.
    pub fn part_of_ttl(text: &str) -> Option<u32> {
        let part = text.strip_prefix("ttl/")?.parse().ok()?;
        (2..=9).contains(&part).then_some(part)
    }

    /// The interval for a lock with this TTL; `None` if renewal is off.
    pub fn interval(self, ttl: Duration) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Fraction(n) => Some(ttl / n.max(1)),
            Self::Every(every) => Some(every),
        }
    }
}

/// How the stock is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Read it, think, and write back one less than was read.
    ReadWrite,
    /// One conditional statement: `UPDATE … WHERE units > 0`, or a script on Redis.
    Atomic,
    /// Read it under a lock on its row (`SELECT … FOR UPDATE`), think, and write, all in one transaction.
    RowLock,
}

impl Update {
    /// Whether the database itself lets nobody in between the read and the write.
    pub const fn is_guarded(self) -> bool {
        matches!(self, Self::Atomic | Self::RowLock)
    }
}

/// Where the stock checks the token that each holder draws under its lock. It refuses a token that is older than the
/// newest one it has accepted; of two equal tokens it refuses the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Fence {
    /// Nowhere; no token is drawn.
    Off,
    /// At the write. If two holders both read before either of them writes, an update is still lost.
    Write,
    /// At the read, which shuts out older holders, and at the write.
    ReadWrite,
}

/// What the holder does when it learns that its lock is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum OnLoss {
    /// It does not check, like most code.
    CarryOn,
    /// It drops the work, if it learns of the loss before the write.
    Abort,
}

/// What a worker does that can't get its lock because nodes are missing. If somebody else holds it, it gives up whatever this says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum OnOutage {
    /// It drops the request.
    #[default]
    GiveUp,
    /// It works without a lock.
    Proceed,
}

/// When a section releases its lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Once its work is written.
    #[default]
    AfterWrite,
    /// Before that, as code does that unlocks within a transaction which is committed later.
    BeforeWrite,
}

/// Which accounts' locks a payment takes, one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum AccountLocks {
    /// Both, that with the lower number first.
    #[default]
    InOrder,
    /// Both, the payer's first: two who pay each other wait for each other.
    AsPaid,
    /// The payer's only.
    Payer,
}

/// One fault of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSpec {
    /// When it starts.
    pub start: FaultStart,
    /// The fault, or the undoing of a condition.
    pub action: Action,
    /// Its targets. `minority` of 3 hosts is host 1; who has the master, and who a replica, is known when it starts.
    pub targets: Targets,
    /// How long after its verified effect it is undone; `None`: it stays.
    #[serde(rename = "lasts_us", with = "in_us")]
    #[schemars(with = "Option<u64>")]
    pub lasts: Option<Duration>,
    /// The name of the act that begins with it; `None`: it is part of the act before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a viewer should look at from its effect on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// The key to try in that act, and what it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teaches: Option<String>,
}

impl FaultSpec {
    /// What it does, in words: `kill host 1 and host 2`.
    pub fn deed(&self) -> String {
        match (self.action, &self.targets) {
            (Action::Fault(Fault::Failover { .. }), Targets::By(Seat::Replicas)) => {
                self.action.on("the most advanced replica")
            }
            (action, targets) => action.on(targets),
        }
    }

    /// Whether it needs this, which a lab may lack.
    pub fn needs(&self, lack: Lack) -> bool {
        let kind = self.targets.kind();
        kind.is_some_and(|kind| self.action.needs(kind, lack))
    }

    /// Whether it reaches the members of etcd on its hosts: what ends or stops processes does; what servers of Redis are told, the proxy
    /// before them and the library inside them do not. What hits app servers is the same for all locks.
    pub fn reaches_etcd(&self) -> bool {
        let is_of_hosts = matches!(
            self.targets.kind(),
            None | Some(TargetKind::Host | TargetKind::Link | TargetKind::Route)
        );
        let of_processes = match self.action {
            // What a member has not synced can't be told.
            Action::Fault(Fault::PowerLoss) => false,
            Action::Undo(condition) => matches!(condition, Condition::Down | Condition::Paused),
            action @ Action::Fault(_) => action.ends_or_stops(),
        };
        !is_of_hosts || of_processes
    }
}

/// When a fault starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultStart {
    /// This long after the measured part began.
    #[serde(rename = "at_us", with = "in_us")]
    #[schemars(with = "u64")]
    At(Duration),
    /// As soon as the condition holds, once.
    When(Trigger),
    /// This long after another fault (numbered from 1) took effect.
    #[serde(rename = "after_us")]
    After(
        usize,
        #[serde(with = "in_us")]
        #[schemars(with = "u64")]
        Duration,
    ),
}
