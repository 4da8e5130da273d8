use super::{cost, crews, is_sqlite, pool};
use crate::model::Wait;
use crate::scenario::Scenario;

/// Files and sockets of this program.
pub(super) fn open(scenario: &Scenario) -> u64 {
    let (hosts, arms) = (scenario.lab.hosts as u64, scenario.arms.len() as u64);
    let servers = scenario.swarm.servers as u64;
    let connection = if is_sqlite(scenario) { cost::FILES_OF_SQLITE } else { 1 };
    let ledgers = u64::from(scenario.workload.ledger().is_some());
    // Each arm has a connection that reads its books, and SQLite an index of the write-ahead log for all its connections, or
    // PostgreSQL one that claims its schema.
    let books = ledgers * connection + 1;
    let told: u64 = scenario
        .arms
        .iter()
        .filter(|arm| arm.wait == Wait::Queue)
        .map(|arm| arm.hosts(&scenario.lab).len() as u64)
        .sum();
    let server = cost::FILES_OF_A_SERVER + hosts + told;
    // The cache is asked by each app server, and by the run.
    cost::FILES_AT_ALL
        + cost::FILES_OF_A_NODE * (hosts + 1)
        + servers * server
        + crews(scenario) * (1 + pool(scenario) * connection)
        + arms * (1 + books)
}

/// Connections to one server of the lab: a lock node has one from each app server, and one more for each arm whose waiters
/// stand in line; the cache node has one from each app server and arm.
pub(super) fn clients(scenario: &Scenario) -> u64 {
    let arms = &scenario.arms;
    let in_line = arms
        .iter()
        .filter(|arm| arm.wait == Wait::Queue && arm.lock.uses_nodes())
        .count() as u64;
    let lock_node = scenario.swarm.servers as u64 * (1 + in_line);
    let cache_node = crews(scenario) + arms.len() as u64;
    lock_node.max(cache_node) + cost::FILES_OF_A_NODE
}
