//! Warnings about scenarios that are valid, but will probably not show what their author wants.

use super::spec::{ArmSpec, Renew};
use super::value::show;
use super::whole::Scenario;
use super::workload::StockIn;
use crate::model::{Action, Fault};

/// The lines that `check` prints besides "OK".
#[must_use]
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut lines = scenario.workload.about().warnings(&scenario.surroundings());
    lines.extend(scenario.arms.iter().filter_map(|arm| outlasted(scenario, arm)));
    lines.extend(even_hosts(scenario));
    lines.extend(connections(scenario));
    lines.extend(too_late(scenario));
    lines.extend(scenario.database.url.exposed().map(str::to_owned));
    lines.extend(left_out(scenario));
    lines.extend(unused_database(scenario));
    lines
}

/// Answers that arrive after the node timeout are no votes.
fn too_late(scenario: &Scenario) -> Vec<String> {
    let arms = scenario.arms.iter().filter(|arm| arm.lock.uses_nodes());
    let Some(waited) = arms.map(|arm| arm.node_timeout).max() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (n, fault) in scenario.faults.iter().enumerate() {
        if let Action::Fault(Fault::Lag { delay }) = fault.action
            && 2 * delay >= waited
        {
            lines.push(format!(
                "fault.{}.delay: a round trip takes {} longer, and no arm waits longer than {} (node_timeout) for an answer: \
                 these hosts give no vote meanwhile",
                n + 1,
                show(2 * delay),
                show(waited)
            ));
        }
    }
    lines
}

/// A database was named, but is never used, so it shows nothing.
fn unused_database(scenario: &Scenario) -> Option<String> {
    let ledger = scenario.workload.ledger()?;
    (ledger.stock_in == StockIn::Redis && !scenario.database.url.is_sqlite()).then(|| {
        "database.url: no sale touches that database, since workload.stock_in = \"redis\" keeps stock and orders on the \
         cache node"
            .to_owned()
    })
}

/// More than 1 % of the sections last longer than the lock is valid.
fn outlasted(scenario: &Scenario, arm: &ArmSpec) -> Option<String> {
    if !arm.lock.uses_nodes() || arm.renew != Renew::Off {
        return None;
    }
    let section = scenario.workload.about().section();
    let p99 = scenario.database.read.p99() * f64::from(section.reads) + section.hold.p99();
    let validity = arm.ttl.as_secs_f64() * 0.99 - 0.002;
    (p99 > validity).then(|| {
        format!(
            "arm.{}.ttl: more than 1 % of the sections last longer than the TTL of {} and nothing renews it: locks will be lost",
            arm.name,
            show(arm.ttl)
        )
    })
}

fn even_hosts(scenario: &Scenario) -> Option<String> {
    let hosts = scenario.lab.hosts;
    let redlock = scenario.arms.iter().any(|arm| arm.lock.needs_majority());
    (redlock && hosts.is_multiple_of(2)).then(|| {
        let (quorum, fewer) = (hosts / 2 + 1, hosts - 1);
        format!(
            "lab.hosts: a redlock on {hosts} hosts has a quorum of {quorum} and survives no more losses than on {fewer}"
        )
    })
}

/// It does not name the parameters: the text after a ? may be part of a password.
fn left_out(scenario: &Scenario) -> Option<String> {
    scenario.database.url.has_unknown().then(|| {
        "database.url: some parameters after its ? are not known and are left out (a passfile is named by PGPASSFILE)"
            .to_owned()
    })
}

/// By default PostgreSQL allows 100 connections, three of them only for superusers.
fn connections(scenario: &Scenario) -> Option<String> {
    let most = scenario.connections();
    (!scenario.database.url.is_sqlite() && most > 90).then(|| {
        format!(
            "database.pool: {most} connections in all (app servers × arms × pool + 2 × arms); PostgreSQL gives 97 unless its \
             max_connections is raised"
        )
    })
}
