//! What several estimates count.

use lockstorm_data::scenario::Scenario;

use super::cost;

/// Connections of one app server and arm to the database: a pool opens eight at once, and then as many as its workers
/// need.
pub(super) fn pool(scenario: &Scenario) -> u64 {
    let asked = u64::max(scenario.swarm.workers as u64, cost::POOL_AT_ONCE);
    u64::from(scenario.database.pool).min(asked)
}

/// Whether the arms are SQLite files.
pub(super) fn is_sqlite(scenario: &Scenario) -> bool {
    scenario.database.url.is_sqlite()
}

/// How many pairs of app server and arm there are.
pub(super) fn crews(scenario: &Scenario) -> u64 {
    (scenario.swarm.servers * scenario.arms.len()) as u64
}
