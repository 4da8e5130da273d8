use super::cost;
use super::counts::{crews, is_sqlite, pool};
use super::orders::{Pace, cycles, orders};
use lockstorm_data::scenario::{ArmSpec, Persistence, Scenario, StockIn};

/// The memory of this program and of the lab's servers at the end of the run, in bytes.
pub(super) fn all(scenario: &Scenario, pace: Pace) -> u64 {
    own(scenario, pace).saturating_add(lab(scenario, pace))
}

/// The memory of this program.
fn own(scenario: &Scenario, pace: Pace) -> u64 {
    let swarm = &scenario.swarm;
    let (servers, arms) = (swarm.servers as u64, scenario.arms.len() as u64);
    let ledger = scenario.workload.ledger();
    let (products, books) = ledger.map_or((0, 0), |ledger| (ledger.products, arms));
    let pages = if is_sqlite(scenario) {
        cost::MEMORY_OF_PAGES.min(tables(scenario, pace))
    } else {
        0
    };
    let connections = crews(scenario) * pool(scenario) + books;
    let minutes = (scenario.duration + scenario.warmup)
        .as_secs()
        .div_ceil(60)
        .min(cost::MINUTES);
    cost::MEMORY_BASE
        + servers * cost::MEMORY_OF_A_SERVER
        + arms * (cost::MEMORY_OF_AN_ARM + minutes * cost::MEMORY_OF_A_MINUTE)
        + crews(scenario) * cost::MEMORY_OF_A_CREW
        + connections * (cost::MEMORY_OF_A_CONNECTION + pages)
        + crews(scenario) * swarm.workers as u64 * cost::MEMORY_OF_A_WORKER
        + books * products * cost::MEMORY_OF_A_PRODUCT
}

/// The memory of the lab's servers and the keeper. Keys of locks expire, so there are few.
fn lab(scenario: &Scenario, pace: Pace) -> u64 {
    let processes = scenario.lab.processes() as u64 + 1;
    let arms = scenario.arms.len() as u64;
    let keys = scenario.workload.about().cache_keys();
    // Only values that were read are in the cache.
    let read = keys.by_reading.min(cycles(scenario, pace).saturating_mul(3));
    let arm = keys
        .at_the_start
        .saturating_add(read)
        .saturating_mul(cost::MEMORY_OF_A_KEY)
        .saturating_add(orders_in(StockIn::Redis, scenario, pace).saturating_mul(cost::MEMORY_OF_AN_ORDER));
    (processes * cost::MEMORY_OF_A_PROCESS).saturating_add(arm.saturating_mul(arms))
}

/// The size of the run's directory at its end, in bytes.
pub(super) fn disk(scenario: &Scenario, pace: Pace) -> u64 {
    let arms = scenario.arms.len() as u64;
    let database = if is_sqlite(scenario) {
        let tables = tables(scenario, pace);
        // The write-ahead log is at most as long as what was written.
        let log = if sells_from_tables(scenario) {
            cost::DISK_OF_AN_ARM
        } else {
            cost::DISK_OF_AN_ARM.min(tables.saturating_mul(2).saturating_add(cost::DISK_OF_EMPTY_TABLES))
        };
        arms.saturating_mul(tables.saturating_add(log))
    } else {
        0
    };
    let append_only = matches!(
        scenario.lab.persistence,
        Persistence::AofAlways | Persistence::AofEverysec
    );
    let nodes = |arm: &ArmSpec| arm.voters(&scenario.lab).len() as u64;
    let nodes: u64 = scenario.arms.iter().map(nodes).sum();
    let cycles = if append_only {
        cycles(scenario, pace).saturating_mul(nodes)
    } else {
        0
    };
    database
        .saturating_add(cycles.saturating_mul(cost::DISK_OF_A_CYCLE))
        .saturating_add(scenario.lab.processes() as u64 * cost::DISK_OF_A_NODE)
}

/// Whether each sale writes to the arm's tables. Otherwise nothing is written there after the set-up.
fn sells_from_tables(scenario: &Scenario) -> bool {
    let ledger = scenario.workload.ledger();
    ledger.is_some_and(|ledger| ledger.stock_in == StockIn::Database)
}

/// How many orders of one arm are kept in `place`.
fn orders_in(place: StockIn, scenario: &Scenario, pace: Pace) -> u64 {
    let ledger = scenario.workload.ledger();
    let is_there = ledger.is_some_and(|ledger| ledger.stock_in == place);
    if is_there { orders(scenario, pace) } else { 0 }
}

/// The size of one arm's tables at the end, in bytes.
fn tables(scenario: &Scenario, pace: Pace) -> u64 {
    let rows = scenario.workload.initial().rows();
    orders_in(StockIn::Database, scenario, pace)
        .saturating_mul(cost::DISK_OF_AN_ORDER)
        .saturating_add(rows.saturating_mul(cost::DISK_OF_A_ROW))
}
