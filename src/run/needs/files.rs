use super::cost;
use super::counts::{crews, is_sqlite, pool};
use lockstorm_data::model::Wait;
use lockstorm_data::scenario::{Scenario, Topology};

/// Files and sockets of this program.
pub(super) fn open(scenario: &Scenario) -> u64 {
    let (hosts, arms) = (scenario.lab.hosts as u64, scenario.arms.len() as u64);
    let servers = scenario.swarm.servers as u64;
    let connection = if is_sqlite(scenario) { cost::FILES_OF_SQLITE } else { 1 };
    let ledgers = u64::from(scenario.workload.ledger().is_some());
    // Each arm has a connection that reads its ledger. For all its connections SQLite also has an index of the write-ahead
    // log, or PostgreSQL a connection that locks its schema.
    let books = ledgers * connection + 1;
    let subscriptions: u64 = scenario
        .arms
        .iter()
        .filter(|arm| arm.wait == Wait::Queue)
        .map(|arm| arm.voters(&scenario.lab).len() as u64)
        .sum();
    // For each arm on replicated nodes a connection to the master, and one to each Sentinel, and for each on the cluster one to
    // each of its nodes and one that asks for the slots; arms may share them.
    let on_master = scenario
        .arms
        .iter()
        .filter(|arm| arm.topology == Topology::Replicated)
        .count() as u64;
    let on_cluster = scenario
        .arms
        .iter()
        .filter(|arm| arm.topology == Topology::Cluster)
        .count() as u64;
    let replicated = on_master * (hosts + 1);
    let in_cluster = on_cluster * (2 * scenario.lab.cluster_hosts() as u64 + 1);
    let server = cost::FILES_OF_A_SERVER + hosts + replicated + in_cluster + subscriptions;
    // The proxy has a listener for each node on a host, and two sockets for each connection of an app server, and for one of
    // the run. Each replica calls its master, and each Sentinel calls every other one and, twice, every replicated node.
    let nodes = scenario.lab.processes() as u64 - 1;
    let links = if on_master > 0 { hosts + hosts * hosts * 3 } else { 0 };
    let proxy = if scenario.needs_proxy() {
        cost::FILES_OF_A_PROXY + nodes * 3 + 2 * servers * (hosts + replicated + subscriptions) + 2 * links
    } else {
        0
    };
    // Each port that the lab chose is claimed; nodes of a cluster have two.
    let second_ports = if on_cluster > 0 {
        2 * scenario.lab.cluster_hosts() as u64
    } else {
        0
    };
    let ports = scenario.lab.processes() as u64 + second_ports;
    // Each app server has a connection to the cache node, and so has the run.
    proxy
        + ports
        + cost::FILES_BASE
        + cost::FILES_OF_A_NODE * scenario.lab.processes() as u64
        + servers * server
        + crews(scenario) * (1 + pool(scenario) * connection)
        + arms * (1 + books)
}

/// Connections to one server of the lab. A lock node has one from each app server, and one more for each arm with waiting;
/// the cache node has one from each app server and arm.
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
