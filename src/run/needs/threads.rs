use super::cost;
use super::counts::{crews, is_sqlite, pool};
use lockstorm_data::scenario::Scenario;

/// Threads of this program and of the lab: an app server is one, and so is each SQLite connection.
pub(super) fn all(scenario: &Scenario) -> u64 {
    let ledgers = u64::from(scenario.workload.ledger().is_some());
    let connections = if is_sqlite(scenario) {
        crews(scenario) * pool(scenario) + ledgers * scenario.arms.len() as u64
    } else {
        0
    };
    let nodes = cost::THREADS_OF_A_NODE * scenario.lab.processes() as u64;
    let proxy = u64::from(scenario.needs_proxy());
    proxy + cost::THREADS_BASE + scenario.swarm.servers as u64 + connections + nodes
}
