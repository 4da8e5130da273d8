//! Warnings about scenarios that are valid, but will probably not show what their author wants.

use std::time::Duration;

use super::lock::LockNodes;
use super::spec::{ArmSpec, FaultSpec, Renew};
use super::value::show;
use super::whole::Scenario;
use super::workload::{StockIn, WorkloadSpec, cache_fill, inventory, job, payment};
use crate::model::{Action, Fault, Target, TargetKind, Targets, Way};

/// The lines that `check` prints besides "OK".
pub fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut lines = match &scenario.workload {
        WorkloadSpec::Inventory(spec) => inventory::warnings(spec, scenario),
        WorkloadSpec::CacheFill(spec) => cache_fill::warnings(spec, scenario),
        WorkloadSpec::Job(spec) => job::warnings(spec, scenario),
        WorkloadSpec::Payment(spec) => payment::warnings(spec, scenario),
        WorkloadSpec::Reported(_) => Vec::new(),
    };
    lines.extend(scenario.arms.iter().filter_map(|arm| outlasted(scenario, arm)));
    lines.extend(scenario.arms.iter().filter_map(|arm| out_of_reach(scenario, arm)));
    lines.extend(even_hosts(scenario));
    lines.extend(scenario.arms.iter().filter_map(even_hosts_of));
    lines.extend(connections(scenario));
    lines.extend(too_late(scenario));
    lines.extend(undone_failovers(scenario));
    lines.extend(scenario.exposed().map(str::to_owned));
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
    let too_late = |(n, fault): (usize, &FaultSpec)| {
        let Action::Fault(Fault::Lag { delay, direction }) = fault.action else {
            return None;
        };
        let later = delay * direction.times();
        (fault.targets.kind() == Some(TargetKind::Host) && later >= waited).then(|| {
            format!(
                "fault.{n}.delay: a round trip takes {} longer, and no arm waits longer than {} (node_timeout) for an answer: \
                 these hosts give no vote meanwhile",
                show(later),
                show(waited)
            )
        })
    };
    (1..).zip(&scenario.faults).filter_map(too_late).collect()
}

/// Sentinels that compare roles so often take a replica that another one has just promoted for an old master, and make it a
/// replica again: they wait for four periods, and the one that promotes it looks at it once a second. Only while a master
/// answers: with one that is down they wait for the end of the failover.
fn undone_failovers(scenario: &Scenario) -> Option<String> {
    const ASKED_EVERY: Duration = Duration::from_secs(1);
    let period = scenario.lab.replicated.as_ref()?.sentinel_period?;
    let by_sentinel = |fault: &FaultSpec| fault.action == Action::Fault(Fault::Failover { by: Way::Sentinel });
    (period * 4 <= ASKED_EVERY && scenario.faults.iter().any(by_sentinel)).then(|| {
        format!(
            "lab.replicated.sentinel_period: with {} the Sentinels often undo the failover that one of them was \
             told to make; 300ms is long enough",
            show(period)
        )
    })
}

/// A database was named, but is never used, so it shows nothing.
fn unused_database(scenario: &Scenario) -> Option<String> {
    let ledger = scenario.workload.about().ledger()?;
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

/// Faults on hosts that the nodes of an arm's lock are not on test it no more than no fault.
fn out_of_reach(scenario: &Scenario, arm: &ArmSpec) -> Option<String> {
    let hosts = arm.hosts_in(&scenario.lab);
    let misses = |fault: &FaultSpec| match &fault.targets {
        Targets::Named(targets) => targets
            .iter()
            .all(|target| matches!(target, Target::Host(host) if !hosts.contains(host))),
        Targets::By(_) => false,
    };
    let on = hosts.first().filter(|_| scenario.is_to_test(arm))?;
    scenario.faults.iter().all(misses).then(|| {
        format!(
            "fault: no fault is on a host of arm \"{}\", whose lock is on {on}{}: none can test it",
            arm.name,
            if hosts.len() > 1 { " and others" } else { "" }
        )
    })
}

/// Arms that use all hosts of a lab with an even number of them.
fn even_hosts(scenario: &Scenario) -> Option<String> {
    let on_all = |arm: &ArmSpec| arm.nodes() == LockNodes::EveryHost && arm.hosts.is_none();
    let why = on_an_even_number(scenario.lab.hosts)?;
    let concerned = scenario.arms.iter().any(on_all);
    concerned.then(|| format!("lab.hosts: {why}"))
}

fn even_hosts_of(arm: &ArmSpec) -> Option<String> {
    let why = on_an_even_number(arm.hosts?)?;
    Some(format!("arm.{}.hosts: {why}", arm.name))
}

/// Why a redlock on so many hosts is no better than on one host less, if it is not.
fn on_an_even_number(hosts: usize) -> Option<String> {
    let (quorum, fewer) = (hosts / 2 + 1, hosts - 1);
    hosts.is_multiple_of(2).then(|| {
        format!("a redlock on {hosts} hosts has a quorum of {quorum} and survives no more losses than on {fewer}")
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
            "database.pool: {most} connections in all (app servers × arms × pool + 2 × arms, and one for each worker of a session \
             lock); PostgreSQL gives 97 unless its max_connections is raised"
        )
    })
}
