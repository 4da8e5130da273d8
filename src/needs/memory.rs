use super::orders::{Pace, cycles, orders};
use super::{cost, crews, files, is_sqlite, pool};
use crate::scenario::{Persistence, Scenario, StockIn, WorkloadSpec};

/// Memory of this program and of the lab's servers at the end of the run, in bytes.
pub(super) fn all(scenario: &Scenario, pace: Pace) -> u64 {
    own(scenario, pace).saturating_add(lab(scenario, pace))
}

/// Of this program.
fn own(scenario: &Scenario, pace: Pace) -> u64 {
    let swarm = &scenario.swarm;
    let (servers, arms) = (swarm.servers as u64, scenario.arms.len() as u64);
    let (products, books) = match &scenario.workload {
        WorkloadSpec::Inventory(inventory) => (inventory.products, arms),
        WorkloadSpec::CacheFill { .. } => (0, 0),
    };
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
    cost::MEMORY_AT_ALL
        + servers * cost::MEMORY_OF_A_SERVER
        + arms * (cost::MEMORY_OF_AN_ARM + minutes * cost::MEMORY_OF_A_MINUTE)
        + crews(scenario) * cost::MEMORY_OF_A_CREW
        + connections * (cost::MEMORY_OF_A_CONNECTION + pages)
        + crews(scenario) * swarm.workers as u64 * cost::MEMORY_OF_A_WORKER
        + books * products * cost::MEMORY_OF_A_PRODUCT
}

/// Of the lab's servers and the keeper. Keys of locks expire, and are few.
fn lab(scenario: &Scenario, pace: Pace) -> u64 {
    let processes = scenario.lab.hosts as u64 + 2;
    let arms = scenario.arms.len() as u64;
    let arm = match &scenario.workload {
        WorkloadSpec::Inventory(inventory) if inventory.stock_in == StockIn::Redis => (inventory.products
            * cost::MEMORY_OF_A_KEY)
            .saturating_add(orders(scenario, pace).saturating_mul(cost::MEMORY_OF_AN_ORDER)),
        WorkloadSpec::Inventory(_) => 0,
        // A value, its state and its version; each page is a value.
        WorkloadSpec::CacheFill { caches } => caches
            .iter()
            .map(|cache| cache.keys.saturating_mul(u64::from(cache.pages.unwrap_or(1)) + 2))
            .fold(0, u64::saturating_add)
            // Only what was read is there.
            .min(cycles(scenario, pace).saturating_mul(3))
            .saturating_mul(cost::MEMORY_OF_A_KEY),
    };
    (processes * cost::MEMORY_OF_A_PROCESS).saturating_add(arm.saturating_mul(arms))
}

/// The run's directory at its end, in bytes.
pub(super) fn disk(scenario: &Scenario, pace: Pace) -> u64 {
    let arms = scenario.arms.len() as u64;
    let hosts = scenario.lab.hosts as u64;
    let database = if is_sqlite(scenario) {
        let tables = tables(scenario, pace);
        // Its write-ahead log is no longer than what was written.
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
    let nodes: u64 = scenario.arms.iter().map(|arm| files::nodes(arm.lock, hosts)).sum();
    let cycles = if append_only {
        cycles(scenario, pace).saturating_mul(nodes)
    } else {
        0
    };
    database
        .saturating_add(cycles.saturating_mul(cost::DISK_OF_A_CYCLE))
        .saturating_add((hosts + 1) * cost::DISK_OF_A_NODE)
}

/// Whether each sale writes to the arm's tables; without that nothing is written there after the set-up.
fn sells_from_tables(scenario: &Scenario) -> bool {
    matches!(&scenario.workload, WorkloadSpec::Inventory(inventory) if inventory.stock_in == StockIn::Database)
}

/// One arm's tables at the end, in bytes.
fn tables(scenario: &Scenario, pace: Pace) -> u64 {
    match &scenario.workload {
        WorkloadSpec::Inventory(inventory) => {
            let ledger = match inventory.stock_in {
                StockIn::Database => orders(scenario, pace).saturating_mul(cost::DISK_OF_AN_ORDER),
                StockIn::Redis => 0,
            };
            ledger.saturating_add(inventory.products * cost::DISK_OF_A_ROW)
        }
        WorkloadSpec::CacheFill { caches } => {
            let rows = caches
                .iter()
                .map(|cache| cache.keys.saturating_mul(u64::from(cache.pages.unwrap_or(1))));
            rows.fold(0, u64::saturating_add).saturating_mul(cost::DISK_OF_A_ROW)
        }
    }
}
