//! What a run of a scenario needs: an estimate from its text.

use super::cost;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::{Lack, Wait};
use lockstorm_data::scenario::{ArmSpec, Ledger, LockKind, Persistence, Scenario, StockIn, Topology};

/// What a run of a scenario needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Files and sockets that this program has open at once.
    pub files: u64,
    /// Connections to that server of the lab that has the most.
    pub clients: u64,
    /// Threads, those of the lab's servers included.
    pub threads: u64,
    /// Memory in bytes, the lab's servers included.
    pub memory: Amount,
    /// The run's directory in bytes.
    pub disk: Amount,
}

/// A need that may grow while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// What is needed for certain: from the start, or with a `rate` at the end.
    pub sure: u64,
    /// What is needed at the end if a closed loop runs as fast as its workers can.
    pub most: u64,
}

impl Amount {
    fn new(of: impl Fn(Pace) -> u64) -> Self {
        let [sure, most] = [Pace::Sure, Pace::Most].map(of);
        Self { sure, most }
    }

    /// Whether most of it is added during the run.
    pub(super) const fn grows(&self) -> bool {
        self.most > self.sure.saturating_add(self.sure / 2)
    }
}

/// What a run of this scenario needs: an upper bound, but not far above what it will use.
pub fn of(scenario: &Scenario) -> Needs {
    let run = Run::of(scenario);
    Needs {
        files: run.files(),
        clients: run.clients(),
        threads: run.threads(),
        memory: Amount::new(|pace| run.own_memory(pace).saturating_add(run.memory_of_lab(pace))),
        disk: Amount::new(|pace| run.disk(pace)),
    }
}

/// The assumed speed of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// The rate that is asked for; zero for a closed loop.
    Sure,
    /// The highest possible rate.
    Most,
}

/// A scenario, with what several estimates count.
struct Run<'a> {
    scenario: &'a Scenario,
    arms: u64,
    /// App servers.
    servers: u64,
    /// Pairs of app server and arm.
    crews: u64,
    /// Servers of the lab.
    processes: u64,
    /// Connections of one app server and arm to the database.
    pool: u64,
    /// Whether the arms are SQLite files.
    is_sqlite: bool,
    ledger: Option<Ledger>,
    /// Arms that have a ledger.
    books: u64,
}

impl<'a> Run<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let (arms, servers) = (scenario.arms.len() as u64, scenario.swarm.servers as u64);
        let ledger = scenario.workload.about().ledger();
        // A pool opens eight at once, and then as many as its workers need.
        let asked = u64::max(scenario.swarm.workers as u64, cost::POOL_AT_ONCE);
        Self {
            scenario,
            arms,
            servers,
            crews: servers * arms,
            processes: scenario.lab.processes() as u64,
            pool: u64::from(scenario.database.pool).min(asked),
            is_sqlite: scenario.database.url.is_sqlite(),
            ledger,
            books: ledger.map_or(0, |_| arms),
        }
    }

    /// How many arms are such.
    fn arms_that(&self, are_such: impl Fn(&&ArmSpec) -> bool) -> u64 {
        self.scenario.arms.iter().filter(are_such).count() as u64
    }

    /// The voters of these arms, added up.
    fn voters(&self, are_such: impl Fn(&&ArmSpec) -> bool) -> u64 {
        let arms = self.scenario.arms.iter().filter(are_such);
        arms.map(|arm| arm.voters(&self.scenario.lab).len() as u64).sum()
    }

    /// The members of etcd.
    fn members(&self) -> u64 {
        u64::from(self.scenario.lab.etcd) * self.scenario.lab.hosts as u64
    }

    /// Files and sockets of this program.
    fn files(&self) -> u64 {
        let hosts = self.scenario.lab.hosts as u64;
        let connection = if self.is_sqlite { cost::FILES_OF_SQLITE } else { 1 };
        // Each arm has a connection that reads its ledger. For all its connections SQLite also has an index of the write-ahead
        // log, or PostgreSQL a connection that locks its schema.
        let books = self.books * connection + self.arms;
        let subscriptions = self.voters(|arm| arm.wait == Wait::Queue);
        // For each arm on replicated nodes a connection to the master, and one to each Sentinel, and for each on the cluster one to
        // each of its nodes and one that asks for the slots; arms may share them.
        let on_master = self.arms_that(|arm| arm.topology == Topology::Replicated);
        let on_cluster = self.arms_that(|arm| arm.topology == Topology::Cluster);
        let nodes_of_cluster = 2 * self.scenario.lab.cluster_hosts() as u64;
        let replicated = on_master * (hosts + 1);
        let in_cluster = on_cluster * (nodes_of_cluster + 1);
        let on_etcd = self.arms_that(|arm| arm.lock == LockKind::Etcd) * self.scenario.swarm.workers as u64;
        let server = cost::FILES_OF_A_SERVER
            + hosts
            + replicated
            + in_cluster
            + subscriptions
            + on_etcd * cost::FILES_OF_A_WORKER_ON_ETCD;
        // The proxy has a listener for each node on a host, and two sockets for each connection of an app server, and for one of
        // the run. Each replica calls its master, and each Sentinel calls every other one and, twice, every replicated node.
        let links = if on_master > 0 { hosts + hosts * hosts * 3 } else { 0 };
        let proxy = if self.scenario.needs(Lack::Proxy) {
            let through = self.servers * (hosts + replicated + subscriptions);
            let routes = if self.scenario.has_routes() {
                self.servers * hosts
            } else {
                0
            };
            cost::FILES_OF_A_PROXY + routes + (self.processes - 1) * 3 + 2 * through + 2 * links
        } else {
            0
        };
        // Each port that the lab chose is claimed; nodes of a cluster have two.
        let ports = self.processes + if on_cluster > 0 { nodes_of_cluster } else { 0 };
        // Each app server has a connection to the cache node, and so has the run.
        proxy
            + ports
            + cost::FILES_BASE
            + cost::FILES_OF_A_NODE * self.processes
            + self.servers * server
            + self.crews * (1 + self.pool * connection)
            + self.arms
            + books
    }

    /// Connections to one server of the lab. A lock node has one from each app server, and one more for each arm with waiting;
    /// the cache node has one from each app server and arm.
    fn clients(&self) -> u64 {
        let in_line = self.arms_that(|arm| arm.wait == Wait::Queue && arm.lock.uses_nodes());
        let lock_node = self.servers * (1 + in_line);
        let cache_node = self.crews + self.arms;
        lock_node.max(cache_node) + cost::FILES_OF_A_NODE
    }

    /// Threads of this program and of the lab: an app server is one, and so is each SQLite connection.
    fn threads(&self) -> u64 {
        let connections = if self.is_sqlite {
            self.crews * self.pool + self.books
        } else {
            0
        };
        let proxy = u64::from(self.scenario.needs(Lack::Proxy));
        proxy + cost::THREADS_BASE + self.servers + connections + cost::THREADS_OF_A_NODE * self.processes
    }

    /// The memory of this program at the end of the run, in bytes.
    fn own_memory(&self, pace: Pace) -> u64 {
        let pages = if self.is_sqlite {
            cost::MEMORY_OF_PAGES.min(self.tables(pace))
        } else {
            0
        };
        let connections = self.crews * self.pool + self.books;
        let length = self.scenario.duration + self.scenario.warmup;
        let minutes = length.as_secs().div_ceil(60).min(cost::MINUTES);
        cost::MEMORY_BASE
            + self.servers * cost::MEMORY_OF_A_SERVER
            + self.arms * (cost::MEMORY_OF_AN_ARM + minutes * cost::MEMORY_OF_A_MINUTE)
            + self.crews * cost::MEMORY_OF_A_CREW
            + connections * (cost::MEMORY_OF_A_CONNECTION + pages)
            + self.crews * self.scenario.swarm.workers as u64 * cost::MEMORY_OF_A_WORKER
            + self.books * self.ledger.map_or(0, |ledger| ledger.products) * cost::MEMORY_OF_A_PRODUCT
    }

    /// The memory of the lab's servers and the keeper. Keys of locks expire, so there are few.
    fn memory_of_lab(&self, pace: Pace) -> u64 {
        let keys = self.scenario.workload.about().cache_keys();
        // Only values that were read are in the cache.
        let read = keys.by_reading.min(self.cycles(pace).saturating_mul(3));
        let orders = self.orders_in(StockIn::Redis, pace);
        let arm = keys
            .at_the_start
            .saturating_add(read)
            .saturating_mul(cost::MEMORY_OF_A_KEY)
            .saturating_add(orders.saturating_mul(cost::MEMORY_OF_AN_ORDER));
        (self.members() * cost::MEMORY_OF_A_MEMBER + (self.processes + 1) * cost::MEMORY_OF_A_PROCESS)
            .saturating_add(arm.saturating_mul(self.arms))
    }

    /// The size of the run's directory at its end, in bytes.
    fn disk(&self, pace: Pace) -> u64 {
        let database = if self.is_sqlite {
            let tables = self.tables(pace);
            // The write-ahead log is at most as long as what was written. Without sales from the tables nothing is written there
            // after the set-up.
            let log = match self.ledger {
                Some(ledger) if ledger.stock_in == StockIn::Database => cost::DISK_OF_AN_ARM,
                _ => cost::DISK_OF_AN_ARM.min(tables.saturating_mul(2).saturating_add(cost::DISK_OF_EMPTY_TABLES)),
            };
            self.arms.saturating_mul(tables.saturating_add(log))
        } else {
            0
        };
        let cycles = match self.scenario.lab.persistence {
            Persistence::AofAlways | Persistence::AofEverysec => {
                self.cycles(pace).saturating_mul(self.voters(|_| true))
            }
            _ => 0,
        };
        database
            .saturating_add(cycles.saturating_mul(cost::DISK_OF_A_CYCLE))
            .saturating_add(self.processes * cost::DISK_OF_A_NODE + self.members() * cost::DISK_OF_A_MEMBER)
    }

    /// The size of one arm's tables at the end, in bytes.
    fn tables(&self, pace: Pace) -> u64 {
        let rows = self.scenario.workload.about().initial().rows();
        self.orders_in(StockIn::Database, pace)
            .saturating_mul(cost::DISK_OF_AN_ORDER)
            .saturating_add(rows.saturating_mul(cost::DISK_OF_A_ROW))
    }

    /// How many orders of one arm are kept in `place`: at most one for each cycle, and at most as many as if all units were sold
    /// four times; two for each payment.
    fn orders_in(&self, place: StockIn, pace: Pace) -> u64 {
        let ledger = self.ledger.filter(|ledger| ledger.stock_in == place);
        ledger.map_or(0, |ledger| match ledger.of.moves_units() {
            true => self.cycles(pace).saturating_mul(2),
            false => self.cycles(pace).min(ledger.units().saturating_mul(4)),
        })
    }

    /// Cycles of one arm in the whole run, warm-up included: from its rate, or from what its workers can do with their pauses,
    /// up to the speed that a machine was seen to reach.
    fn cycles(&self, pace: Pace) -> u64 {
        let (scenario, swarm) = (self.scenario, &self.scenario.swarm);
        if pace == Pace::Sure && swarm.rate.is_none() {
            return 0;
        }
        let workers = (swarm.servers * swarm.workers) as f64;
        let hold = scenario.workload.about().section().hold.mean();
        let pause = swarm.think.as_secs_f64() + scenario.database.read.mean() + hold;
        let pace = swarm.rate.unwrap_or(workers / pause.max(1e-6)).min(cost::MOST_CYCLES);
        let seconds = (scenario.duration + scenario.warmup).as_secs_f64();
        let cycles = rounded((pace * seconds).ceil());
        // The fixed number of requests does not include those of the warm-up.
        let warm_up = rounded((pace * scenario.warmup.as_secs_f64()).floor());
        swarm
            .requests
            .map_or(cycles, |requests| cycles.min(requests.saturating_add(warm_up)))
    }
}
