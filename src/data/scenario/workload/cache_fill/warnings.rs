use std::time::Duration;

use super::super::super::value::show;
use super::super::super::whole::Scenario;
use super::spec::CacheFillSpec;

/// In a stampede all workers of an app server queue at its pool. Values that expire before the queue is through are
/// never seen.
pub(in super::super::super) fn warnings(spec: &CacheFillSpec, scenario: &Scenario) -> Vec<String> {
    if scenario.arms.iter().all(|arm| arm.lock.is_some()) {
        return Vec::new();
    }
    let (workers, pool) = (scenario.swarm.workers as f64, f64::from(scenario.database.pool));
    let mut lines = Vec::new();
    for cache in &spec.caches {
        let reads = f64::from(cache.pages.unwrap_or(1)) * workers;
        let queue = Duration::from_secs_f64(reads * scenario.database.read.mean() / pool);
        if cache.data_ttl <= queue {
            let (name, data_ttl, queue) = (&cache.name, show(cache.data_ttl), show(queue));
            lines.push(format!(
                "workload.cache.{name}.data_ttl: {data_ttl} is not longer than a stampede's queue at the pool (workers × read / pool = {queue})"
            ));
        }
    }
    lines
}
