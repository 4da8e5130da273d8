//! What is asked before a scenario sends load to servers that are not ours.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::net::IpAddr;

use lockstorm_base::output::stderr;
use lockstorm_data::metrics::units::counted;
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::Scenario;
use lockstorm_lab::doctor::{Check, Finding, LockUse};
use lockstorm_lock::NodeAddress;

use super::doctor::diagnose;
use super::server;
use crate::cli::{LabKind, Play};
use crate::failure::Failure;

/// What makes locks impossible if it is bad.
const NEEDED: [Check; 7] = [
    Check::Reach,
    Check::Version,
    Check::Kind,
    Check::Replication,
    Check::Permission,
    Check::Keys,
    Check::Twice,
];
/// What our own user needs there begins with this, as all keys of a run do.
const PREFIX: &str = "lockstorm:";

/// Whether somebody is there who can be asked. While the console has the terminal, nobody is, so that load on other machines needs
/// `--yes`.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for consent if servers on other machines are to get load, and then the servers whether they are fit for it. Returns what
/// speaks against them and still lets them be used; nothing for a scenario with nodes of our own.
pub fn admit(scenario: &Scenario, play: &Play, may_ask: bool) -> Result<Vec<String>, Failure> {
    let Some(given) = &scenario.lab.nodes else {
        return Ok(Vec::new());
    };
    if server::kind(&play.nodes)? != LabKind::Process {
        return Err(Failure::usage(
            "--lab chooses what our own nodes run as, but those of this scenario are not ours (lab.nodes): leave it out",
        ));
    }
    let urls = given.urls.iter();
    let addresses = urls.map(|url| NodeAddress::parse(url.reveal()).map_err(Failure::usage));
    let addresses: Vec<NodeAddress> = addresses.collect::<Result<_, _>>()?;
    agree(scenario, &addresses, play.yes, may_ask)?;
    let arms = || scenario.arms.iter().filter(|arm| arm.lock.uses_nodes());
    let lock_use = LockUse {
        ttl: arms().map(|arm| arm.ttl).max().unwrap_or_default(),
        node_timeout: arms().map(|arm| arm.node_timeout).min().unwrap_or_default(),
        prefix: PREFIX.to_owned(),
    };
    let diagnosis = diagnose(addresses, &lock_use, true)?;
    let (fatal, other): (Vec<Finding>, Vec<Finding>) = diagnosis
        .findings
        .into_iter()
        .filter(|finding| !finding.is_good() && finding.check != Check::Number)
        .partition(|finding| finding.result == CheckResult::Failed && NEEDED.contains(&finding.check));
    if fatal.is_empty() {
        return Ok(lines(&other));
    }
    let mut lines = lines(&fatal);
    lines.push("locks are impossible on these nodes, so nothing was started; `lockstorm doctor` tells more".to_owned());
    Err(Failure::error(lines.join("\n")))
}

/// Each finding in a line, with all servers that it is about.
fn lines(findings: &[Finding]) -> Vec<String> {
    let mut servers: BTreeMap<(Check, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
    for finding in findings {
        let same = (finding.check, finding.seen.as_str(), finding.cure.as_deref());
        servers.entry(same).or_default().extend(finding.server.as_deref());
    }
    let mut lines = Vec::new();
    for ((check, seen, cure), servers) in servers {
        let whose = match servers.is_empty() {
            true => "lab.nodes".to_owned(),
            false => servers.join(", "),
        };
        let cure = cure.map_or_else(String::new, |cure| format!("; {cure}"));
        lines.push(format!("{whose}: {check}: {seen}{cure}"));
    }
    lines
}

/// Makes sure that somebody wants load on other machines.
fn agree(scenario: &Scenario, addresses: &[NodeAddress], yes: bool, may_ask: bool) -> Result<(), Failure> {
    let is_here = |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let others = addresses.iter().filter(|address| !is_here(address.host()));
    let others: Vec<String> = others.map(ToString::to_string).collect();
    if yes || others.is_empty() {
        return Ok(());
    }
    let sends = format!("this sends {} to {}", load(scenario), others.join(", "));
    if !may_ask {
        return Err(Failure::usage(format!("{sends}: say --yes if that is meant")));
    }
    let mut answer = String::new();
    stderr().write(format!("lockstorm: {sends}: go on? [y/N] "));
    let asked = stderr().settle().and_then(|()| io::stdin().read_line(&mut answer));
    asked.map_err(Failure::error)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::usage("nothing was sent")),
    }
}

fn load(scenario: &Scenario) -> String {
    let arms = scenario.arms.iter().filter(|arm| arm.lock.uses_nodes()).count();
    let arms = counted(arms as u64, "arm", "arms");
    let time = humantime::format_duration(scenario.duration);
    match scenario.swarm.rate {
        Some(rate) => format!("the locks of {rate} requests a second × {arms}, for {time},"),
        None => {
            let workers = scenario.swarm.servers * scenario.swarm.workers;
            format!("the locks of {workers} workers × {arms}, as fast as they can, for {time},")
        }
    }
}
