//! A validated scenario: what the rest of the program reads. Every value in it is possible and consistent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, Expectation};
use super::database_url::DatabaseUrl;
use crate::model::{Action, HostId, Target, Wait};

/// A whole scenario, validated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The file's name without its ending.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The measured part of the run; with `swarm.requests` the longest it may take.
    pub duration: Duration,
    /// Load that is not counted, before the measured part.
    pub warmup: Duration,
    /// The seed that every random choice comes from.
    pub seed: u64,
    /// The hosts.
    pub lab: LabSpec,
    /// The load.
    pub swarm: SwarmSpec,
    /// What the workers do.
    pub workload: WorkloadSpec,
    /// The database behind the workload.
    pub database: DatabaseSpec,
    /// The lock strategies under test; at least one, names unique.
    pub arms: Vec<ArmSpec>,
    /// The faults, in the order of the file (`fault:1` is the first).
    pub faults: Vec<FaultSpec>,
    /// The thresholds.
    pub expect: Vec<Expectation>,
}

impl Scenario {
    /// The connections to the database that its run opens: the pools of all app servers and arms, and besides them for each arm
    /// one that reads its books and one that claims its schema.
    #[must_use]
    pub fn connections(&self) -> u64 {
        let (servers, arms) = (self.swarm.servers as u64, self.arms.len() as u64);
        servers * arms * u64::from(self.database.pool) + 2 * arms
    }
}

/// The hosts of the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabSpec {
    /// How many hosts, 1 to 9.
    pub hosts: usize,
    /// What a lock node keeps over a restart.
    pub persistence: Persistence,
    /// The port of host 1; host n listens on `port + n - 1`, the cache node on `port + hosts`. None: free ones are found.
    pub port: Option<u16>,
    /// Whether nodes ask for a password.
    #[serde(default)]
    pub password: Password,
}

/// Whether the nodes of a lab ask for a password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Password {
    /// One for each lab, drawn from the system's generator, that only this user can read.
    #[default]
    Random,
    /// None: whoever can reach a port of the lab can do there what he likes.
    Off,
}

/// What a lock node keeps over a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing.
    None,
    /// A snapshot at shutdown (SIGTERM), and every 60 s; a kill loses what came after.
    Rdb,
    /// An append-only file synced once a second.
    AofEverysec,
    /// An append-only file synced before each reply.
    AofAlways,
}

/// The load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwarmSpec {
    /// App servers.
    pub servers: usize,
    /// Workers on each app server, for each arm.
    pub workers: usize,
    /// Requests a second for each arm (open loop); none: closed loop.
    pub rate: Option<f64>,
    /// Which app server a request goes to (open loop only).
    pub balance: Balance,
    /// How requests are spaced (open loop only).
    pub arrivals: Arrivals,
    /// Requests for each arm, after which the arm is done; none: until `duration` ends.
    pub requests: Option<u64>,
    /// Over this time from the start the load grows linearly to its full size.
    pub ramp: Duration,
    /// Mean of the exponential pause of a worker between two requests (closed loop only).
    pub think: Duration,
}

/// Which app server a request of an open loop goes to. Request i goes to the same one in every arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// At random, from the seed.
    Random,
    /// The one with the fewest requests that are queued or under way, over all arms.
    LeastBusy,
}

impl Balance {
    /// The word for it in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::LeastBusy => "least-busy",
        }
    }
}

/// How requests of an open loop are spaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly. With constant holds requests then never overlap, or always do.
    #[default]
    Even,
    /// At random, as from many independent users: a Poisson process, from the seed.
    Poisson,
}

impl Arrivals {
    /// The word for it in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// What the workers do inside the lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkloadSpec {
    /// Read through caches that expire.
    CacheFill {
        /// The caches, names unique.
        caches: Vec<CacheSpec>,
    },
    /// Sell stock.
    Inventory(InventorySpec),
}

/// One named cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheSpec {
    /// The first part of its keys.
    pub name: String,
    /// How many keys are read.
    pub keys: u64,
    /// Which of them are read how often.
    pub popularity: Popularity,
    /// How long a filled value counts as fresh (the state key's TTL); shorter than `data_ttl`.
    pub state_ttl: Duration,
    /// How long a filled value can be served at all.
    pub data_ttl: Duration,
    /// Pages of each value: a paged list, filled page by page; none: one object.
    pub pages: Option<u32>,
    /// How often this cache is read compared with the others.
    pub weight: f64,
}

/// Which keys or products are asked for how often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// All alike.
    Uniform,
    /// Zipf's law with this exponent, > 0.
    Zipf(f64),
}

/// The stock and how it is sold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InventorySpec {
    /// How many products; one product is one lock.
    pub products: u64,
    /// Units of each product at the start.
    pub stock: u64,
    /// Which products are bought how often.
    pub popularity: Popularity,
    /// The time between reading the stock and writing it back.
    pub hold: ServiceTime,
    /// Where the stock lives.
    pub stock_in: StockIn,
}

/// Where the stock lives. The order ledger is always in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockIn {
    /// In the database's stock table.
    Database,
    /// In a key of the cache node (GET, then SET).
    Redis,
}

/// A log-normal duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ServiceTime {
    /// The median; zero means no time at all.
    pub median: Duration,
    /// The standard deviation of the logarithm; 0 makes it a constant.
    pub sigma: f64,
}

/// The database behind the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseSpec {
    /// `sqlite` (embedded, a file for each arm) or a `postgres://` URL (a schema for each arm).
    pub url: DatabaseUrl,
    /// The environment variable that the URL came from, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_env: Option<String>,
    /// Time added to each read while its connection is held: a provider's call, a stock's read.
    pub read: ServiceTime,
    /// Connections of each app server and arm.
    pub pool: u32,
}

/// One lock strategy under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSpec {
    /// Its name, unique.
    pub name: String,
    /// The lock.
    pub lock: LockKind,
    /// Time to live of the lock's keys.
    pub ttl: Duration,
    /// How often a held lock is extended.
    pub renew: Renew,
    /// What happens when the lock is not to be had at once.
    pub wait: Wait,
    /// The longest that one acquire may take, waiting included.
    // The name that it has in records of before.
    #[serde(alias = "deadline")]
    pub timeout: Duration,
    /// The longest that one node's reply is waited for; shorter than `ttl`.
    pub node_timeout: Duration,
    /// The host whose node a `single` lock uses.
    pub host: HostId,
    /// `inventory`: how the stock is written.
    pub update: Update,
    /// `inventory`: where the stock checks the holder's token.
    pub fence: Fence,
    /// `cache-fill`: whether a reader without the lock is given stale data if there is any.
    pub serve_stale: bool,
    /// `cache-fill`: whether the cache is read again once the lock is held.
    pub second_look: bool,
    /// What the holder does when it is told that its lock is lost.
    pub on_loss: OnLoss,
}

impl ArmSpec {
    /// A few words for tables: the lock, and its fence if it has one.
    #[must_use]
    pub fn label(&self) -> String {
        let lock = match (self.lock, self.update) {
            (LockKind::None, Update::Atomic) => "atomic update".to_owned(),
            (LockKind::None, Update::ReadWrite) => "no lock".to_owned(),
            (LockKind::Local, _) => "in-process mutex".to_owned(),
            (LockKind::Single, _) => format!("single, {}", self.host),
            (LockKind::Redlock, _) => "redlock".to_owned(),
        };
        match self.fence {
            Fence::Off => lock,
            Fence::Write => format!("{lock}, write fence"),
            Fence::ReadWrite => format!("{lock}, read-write fence"),
        }
    }
}

/// The lock of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// None.
    None,
    /// A keyed mutex inside each app server.
    Local,
    /// `SET key token NX PX ttl` on one node.
    Single,
    /// The same on every host, held with a majority.
    Redlock,
}

impl LockKind {
    /// Whether lock nodes are asked.
    #[must_use]
    pub const fn uses_nodes(self) -> bool {
        matches!(self, Self::Single | Self::Redlock)
    }
}

/// How often a held lock is extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Renew {
    /// Never.
    Off,
    /// Every `ttl / n`: 2 or 3.
    Fraction(u32),
    /// Every so often; shorter than the TTL.
    Every(Duration),
}

impl Renew {
    /// The interval for a lock of this TTL; none when renewal is off.
    #[must_use]
    pub fn interval(self, ttl: Duration) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Fraction(n) => Some(ttl / n.max(1)),
            Self::Every(every) => Some(every),
        }
    }
}

/// How the stock is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Read it, think, write back what was read less one.
    ReadWrite,
    /// One conditional statement: `UPDATE … WHERE units > 0`, or a script on Redis.
    Atomic,
}

/// Where the stock checks the token that each holder draws under its lock. It refuses a token that is older than the newest
/// it has accepted, and of two alike the one that came second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fence {
    /// Nowhere: no token is drawn.
    Off,
    /// At the write. Two holders that have both read before either writes still lose an update.
    Write,
    /// At the read, which shuts out older holders, and at the write.
    ReadWrite,
}

/// What the holder does when it is told that its lock is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnLoss {
    /// It does not look, as most code does.
    CarryOn,
    /// It drops the work if it hears of it before the write.
    Abort,
}

/// One fault of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultSpec {
    /// When.
    pub start: FaultStart,
    /// What.
    pub action: Action,
    /// To which; resolved (`minority` of 3 hosts is host 1).
    pub targets: Vec<Target>,
    /// After this time, counted from the verified effect, the fault is undone; none: it stays.
    pub lasts: Option<Duration>,
}

/// When a fault starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultStart {
    /// So long after the measured part began.
    At(Duration),
    /// As soon as the condition holds, once.
    When(Condition),
    /// So long after another fault (counted from 1) took effect.
    After(usize, Duration),
}
