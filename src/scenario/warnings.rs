//! What is allowed but will probably not show what its author wants.

use std::time::Duration;

use super::metric::Metric;
use super::spec::{ArmSpec, InventorySpec, LockKind, Popularity, Renew, Scenario, ServiceTime, StockIn, WorkloadSpec};
use super::value::show;

/// What `check` says besides "OK", a line each.
#[must_use]
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut lines = Vec::new();
    match &scenario.workload {
        WorkloadSpec::Inventory(inventory) => {
            lines.extend(overload(scenario, inventory));
            lines.extend(cannot_sell_out(scenario, inventory));
        }
        WorkloadSpec::CacheFill { .. } => lines.extend(slow_refills(scenario)),
    }
    lines.extend(scenario.arms.iter().filter_map(|arm| outlasted(scenario, arm)));
    lines.extend(even_hosts(scenario));
    lines.extend(connections(scenario));
    lines.extend(scenario.database.url.exposed().map(str::to_owned));
    lines.extend(left_out(scenario));
    lines.extend(unused_database(scenario));
    lines
}

/// A server that was named and is not asked for anything: what becomes of it then shows nothing.
fn unused_database(scenario: &Scenario) -> Option<String> {
    match &scenario.workload {
        WorkloadSpec::Inventory(inventory)
            if inventory.stock_in == StockIn::Redis && !scenario.database.url.is_sqlite() =>
        {
            Some(
                "database.url: no sale touches that database, since workload.stock_in = \"redis\" keeps stock and orders on \
                 the cache node"
                    .to_owned(),
            )
        }
        _ => None,
    }
}

/// Mean of a log-normal time in seconds.
fn mean(time: ServiceTime) -> f64 {
    time.median.as_secs_f64() * (time.sigma * time.sigma / 2.0).exp()
}

/// A product is one lock: `products / (read + hold)` is the most that a lock arm can do.
fn overload(scenario: &Scenario, inventory: &InventorySpec) -> Option<String> {
    let rate = scenario.swarm.rate?;
    scenario.arms.iter().find(|arm| arm.lock != LockKind::None)?;
    let most = under_locks(scenario, inventory);
    (rate > most).then(|| {
        let products = inventory.products;
        format!("swarm.rate: {rate}/s is more than {products} locks can do (products / (read + hold) = {most:.0}/s): requests queue up")
    })
}

#[allow(clippy::cast_precision_loss)] // an estimate
fn under_locks(scenario: &Scenario, inventory: &InventorySpec) -> f64 {
    inventory.products as f64 / (mean(scenario.database.read) + mean(inventory.hold))
}

/// Oversold shows only beyond the stock. With a popularity other than uniform some products sell out long before the rest.
#[allow(clippy::cast_precision_loss)] // an estimate
fn cannot_sell_out(scenario: &Scenario, inventory: &InventorySpec) -> Vec<String> {
    if inventory.popularity != Popularity::Uniform {
        return Vec::new();
    }
    let units = inventory.products as f64 * inventory.stock as f64;
    let swarm = &scenario.swarm;
    let cycle = swarm.think.as_secs_f64() + mean(scenario.database.read) + mean(inventory.hold);
    let pace = swarm.rate.unwrap_or((swarm.servers * swarm.workers) as f64 / cycle);
    let expected = scenario
        .expect
        .iter()
        .filter(|expectation| expectation.metric == Metric::Oversold);
    let mut lines = Vec::new();
    for expectation in expected {
        let Some(arm) = scenario.arms.iter().find(|arm| arm.name == expectation.arm) else {
            continue;
        };
        let pace = if arm.lock == LockKind::None {
            pace
        } else {
            pace.min(under_locks(scenario, inventory))
        };
        let most = swarm
            .requests
            .map_or(f64::INFINITY, |n| n as f64)
            .min(pace * scenario.duration.as_secs_f64());
        if most < units {
            let met = expectation.op.holds(0.0, expectation.bound);
            let but = if met {
                "expect lost_updates too, which shows before that"
            } else {
                "it will hardly be met"
            };
            lines.push(format!(
                "expect \"{}.oversold\": about {most:.0} of {units:.0} units can be sold, and hardly any beyond its product's stock: {but}",
                arm.name
            ));
        }
    }
    lines
}

/// In a stampede all workers of an app server queue at its pool; values that expire before the queue is through are never seen.
fn slow_refills(scenario: &Scenario) -> Vec<String> {
    let WorkloadSpec::CacheFill { caches } = &scenario.workload else {
        return Vec::new();
    };
    if !scenario.arms.iter().any(|arm| arm.lock == LockKind::None) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for cache in caches {
        let reads = f64::from(cache.pages.unwrap_or(1)) * workers(scenario);
        let queue = Duration::from_secs_f64(reads * mean(scenario.database.read) / f64::from(scenario.database.pool));
        if cache.data_ttl <= queue {
            lines.push(format!(
                "workload.cache.{}.data_ttl: {} is not longer than a stampede's queue at the pool (workers × read / pool = {})",
                cache.name,
                show(cache.data_ttl),
                show(queue)
            ));
        }
    }
    lines
}

#[allow(clippy::cast_precision_loss)] // an estimate
fn workers(scenario: &Scenario) -> f64 {
    scenario.swarm.workers as f64
}

/// More than 1 % of the sections last longer than the lock is valid.
fn outlasted(scenario: &Scenario, arm: &ArmSpec) -> Option<String> {
    if !arm.lock.uses_nodes() || arm.renew != Renew::Off {
        return None;
    }
    /// The 99th percentile of the standard normal distribution.
    const Z99: f64 = 2.326;
    let p99 = |time: ServiceTime| time.median.as_secs_f64() * (time.sigma * Z99).exp();
    let read = p99(scenario.database.read);
    let section = match &scenario.workload {
        WorkloadSpec::Inventory(inventory) => read + p99(inventory.hold),
        WorkloadSpec::CacheFill { caches } => {
            read * f64::from(caches.iter().filter_map(|cache| cache.pages).max().unwrap_or(1))
        }
    };
    let validity = arm.ttl.as_secs_f64() * 0.99 - 0.002;
    (section > validity).then(|| {
        format!(
            "arm.{}.ttl: more than 1 % of the sections last longer than the TTL of {} and nothing renews it: locks will be lost",
            arm.name,
            show(arm.ttl)
        )
    })
}

fn even_hosts(scenario: &Scenario) -> Option<String> {
    let hosts = scenario.lab.hosts;
    let redlock = scenario.arms.iter().any(|arm| arm.lock == LockKind::Redlock);
    (redlock && hosts.is_multiple_of(2)).then(|| {
        let (quorum, fewer) = (hosts / 2 + 1, hosts - 1);
        format!(
            "lab.hosts: a redlock on {hosts} hosts has a quorum of {quorum} and survives no more losses than on {fewer}"
        )
    })
}

/// Does not name them: what stands after a ? may be part of a password.
fn left_out(scenario: &Scenario) -> Option<String> {
    scenario.database.url.has_unknown().then(|| {
        "database.url: some parameters after its ? are not known and are left out (a passfile is named by PGPASSFILE)"
            .to_owned()
    })
}

/// PostgreSQL grants 100 connections, three of them to superusers only, unless it is told otherwise.
fn connections(scenario: &Scenario) -> Option<String> {
    let most = scenario.connections();
    (!scenario.database.url.is_sqlite() && most > 90).then(|| {
        format!(
            "database.pool: {most} connections in all (app servers × arms × pool + 2 × arms); PostgreSQL gives 97 unless its \
             max_connections is raised"
        )
    })
}
