//! `[[fault]]`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use strum::VariantArray;

use super::super::expectation::Trigger;
use super::super::lock::{LockKind, LockNodes};
use super::super::reader::Reader;
use super::super::spec::{ArmSpec, FaultSpec, FaultStart, LabSpec};
use super::super::suggest;
use super::super::tree::Value;
use super::super::value;
use super::super::words::Words;
use super::comparison::{self, Known};
use crate::model::{
    Action, Direction, Fault, HostId, Lack, Link, Parameters, Seat, ServerId, Skew, Target, TargetKind, Targets, Way,
};

/// The keys by which a fault starts.
pub(in super::super) const STARTS: [&str; 3] = ["at", "when", "after"];
/// The most faults: the run checks each of them a hundred times a second.
const MOST_FAULTS: usize = 1_000;

pub(super) fn read(
    root: &mut Reader<'_>,
    lab: &LabSpec,
    servers: usize,
    duration: Duration,
    known: Known<'_>,
) -> Vec<FaultSpec> {
    let mut tables = root.tables("fault");
    let count = tables.len();
    root.limit("fault", &mut tables, MOST_FAULTS);
    let faults: Vec<FaultSpec> = tables
        .iter_mut()
        .map(|table| fault(table, count, lab, servers, known))
        .collect();
    for (n, table) in tables.iter().enumerate().filter(|(_, table)| table.sound(&STARTS)) {
        match earliest(&faults, n) {
            Some(Err(circle)) => table.complain("after", format!("waits for itself: {circle}")),
            Some(Ok(start)) if start >= duration && root.sound(&["duration"]) => {
                let key = match faults[n].start {
                    FaultStart::At(_) => "at",
                    _ => "after",
                };
                let (start, end) = (value::show(start), value::show(duration));
                table.complain(key, format!("{start} is not before the end of the run ({end})"));
            }
            Some(Ok(_)) | None => {}
        }
    }
    tables.into_iter().for_each(Reader::finish);
    faults
}

fn fault(table: &mut Reader<'_>, count: usize, lab: &LabSpec, servers: usize, known: Known<'_>) -> FaultSpec {
    let start = start(table, count, known);
    let actions: Vec<(&str, Action)> = Action::kinds().map(|action| (action.word(), action)).collect();
    let action = table.need("do", Fault::Kill.into(), "\"kill\"", value::word(&actions));
    let action = parameters(action, table);
    let on = |value: &Value| targets(&value::text(value)?, lab, servers, known);
    let targets = match action {
        // Somebody always has to choose.
        Action::Fault(Fault::Failover { .. }) => table.get("on", on).unwrap_or(Targets::By(Seat::Replicas)),
        _ => table.need("on", Targets::Named(Vec::new()), "\"host:1\"", on),
    };
    let needs_own = targets.kind().is_some_and(|kind| action.needs(kind, Lack::OwnHosts));
    if needs_own && !lab.are_ours() && table.sound(&["do", "on"]) {
        let done = action.verbs()[2];
        let why = format!(
            "the nodes are not ours (lab.nodes), so no host can be {done}; what needs no process of theirs can be done: a lag of \
             hosts, and faults of app servers"
        );
        table.complain("do", why);
    } else if let Action::Fault(Fault::Failover { by }) = action {
        failover(table, by, &targets, lab);
    }
    if let Action::Fault(Fault::Cut {
        direction: Direction::There | Direction::Back,
    }) = action
        && targets.kind() == Some(TargetKind::Host)
    {
        let why = "a host is cut off both ways; only links can be cut one way";
        table.complain("direction", why);
    }
    if let Action::Fault(fault) = action
        && let Some(why) = fault.lacks()
        && table.sound(&fault.keys())
    {
        table.complain("do", format!("{action} {why}"));
    }
    let lasts = table.get("for", value::positive);
    let title = table.get("title", value::title);
    let caption = table.get("caption", value::caption);
    let teaches = table.get("teaches", value::caption);
    if teaches.is_some() && !table.has("title") {
        table.complain("teaches", "belongs to an act: give this fault a title".to_owned());
    }
    if table.sound(&["do", "on"])
        && let Some(kind) = targets.kind()
    {
        check_target(table, action, kind, lasts.is_some());
    }
    FaultSpec {
        start,
        action,
        targets,
        lasts,
        title,
        caption,
        teaches,
    }
}

/// Checks whether a failover can be done to its target.
fn failover(table: &mut Reader<'_>, by: Way, targets: &Targets, lab: &LabSpec) {
    if lab.replicated.is_none() {
        let why = "there is nothing to fail over: no arm has topology = \"replicated\"";
        table.complain("do", why);
        return;
    }
    let why = match (by, targets) {
        _ if !table.sound(&["on", "by"]) => return,
        (_, Targets::By(Seat::Primary)) => "the primary has the master already; name another host, or leave on out",
        (Way::Sentinel, Targets::Named(_)) => "a Sentinel chooses the new master by itself; leave on out",
        (Way::Hand, Targets::Named(hosts)) if hosts.len() > 1 => "only one of them can be the master; name one host",
        (Way::Sentinel | Way::Hand, _) => return,
    };
    table.complain("on", why);
}

/// The action with its parameters. Those of other faults are refused.
fn parameters(action: Action, table: &mut Reader<'_>) -> Action {
    let keys = match action {
        Action::Fault(fault) => fault.keys(),
        Action::Undo(_) => Vec::new(),
    };
    let all: BTreeSet<&str> = Fault::kinds().flat_map(Fault::keys).collect();
    for key in all.into_iter().filter(|key| !keys.contains(key)) {
        let having = Fault::kinds().filter(|fault| fault.keys().contains(&key));
        let having: Vec<&str> = having.map(|fault| Action::from(fault).word()).collect();
        let have = if having.len() == 1 { "has" } else { "have" };
        let (having, why) = (having.join(" and "), format!("makes no sense with {action}"));
        table.refuse(&[key], &format!("{why}; {having} {have} it"));
    }
    match action {
        Action::Fault(fault) => Action::Fault(fault.map_parameters(table)),
        Action::Undo(_) => action,
    }
}

/// Reads the parameters of a fault. Durations are required, and so are words for which the table of keys has no other.
impl Parameters for Reader<'_> {
    fn duration(&mut self, key: &'static str, _: Duration, range: RangeInclusive<Duration>) -> Duration {
        let [least, most] = [*range.start(), *range.end()];
        let within = |value: &Value| match value::positive(value)? {
            duration if range.contains(&duration) => Ok(duration),
            duration => {
                let [duration, least, most] = [duration, least, most].map(value::show);
                Err(format!("{duration} is out of range; {least} to {most}"))
            }
        };
        self.need(key, most, "\"50ms\"", within)
    }

    fn number(&mut self, key: &'static str, _: u64, range: RangeInclusive<u64>, left_out: Option<u64>) -> u64 {
        let within = value::whole(range.clone());
        match left_out {
            Some(left_out) => self.get(key, within).unwrap_or(left_out),
            None => self.need(key, *range.end(), "10000", within),
        }
    }

    fn shift(&mut self, key: &'static str, _: i64) -> i64 {
        self.get(key, value::shift).unwrap_or(0)
    }

    fn rate(&mut self, key: &'static str, _: u32) -> u32 {
        self.get(key, value::clock_rate).unwrap_or(Skew::TRUE_RATE)
    }

    fn word<T: Words>(&mut self, key: &'static str, now: T) -> T {
        match self.default_of(key) {
            Some(_) => self.listed(key, value::one_of),
            None => self.need(key, now, "\"hand\"", value::one_of),
        }
    }
}

/// Checks whether the action is possible on such a target, and whether something undoes it there if it `is_undone`.
fn check_target(table: &Reader<'_>, action: Action, kind: TargetKind, is_undone: bool) {
    let (it, done) = (kind.one(), action.verbs()[2]);
    if !action.is_for(kind) {
        let possible = Action::kinds().filter(|action| action.is_for(kind));
        let possible: Vec<&str> = possible.map(|action| action.verbs()[2]).collect();
        let possible = suggest::list(&possible);
        table.complain("do", format!("{it} can't be {done}; it can be {possible}"));
        return;
    }
    if !is_undone || action.undo(kind).is_some() {
        return;
    }
    let why = match action {
        Action::Undo(_) => format!("makes no sense with {action}, which is itself the end of a fault"),
        Action::Fault(fault) if fault.brings().is_none() => {
            format!("makes no sense with {action}, which leaves nothing to undo")
        }
        Action::Fault(_) => {
            let undone = Action::kinds().filter(|action| action.undo(kind).is_some());
            let undone = suggest::list(&undone.map(Action::word).collect::<Vec<_>>());
            format!("makes no sense here: {it} that was {done} does not come back; {undone} it instead")
        }
    };
    table.complain("for", why);
}

/// Exactly one of `at`, `when` and `after`.
fn start(table: &mut Reader<'_>, count: usize, known: Known<'_>) -> FaultStart {
    let written: Vec<_> = STARTS.into_iter().filter(|key| table.has(key)).collect();
    match written.as_slice() {
        [] => {
            let why = "is missing; a fault starts at = \"10s\", when = \"…\" or after = \"fault:1 + 300ms\"";
            table.complain("at", why);
        }
        [_] => {}
        [first, second, ..] => table.complain(second, format!("contradicts {first}; a fault starts by one of them")),
    }
    let at = table.get("at", value::duration).map(FaultStart::At);
    let when = table.get("when", |value| {
        let text = value::text(value)?;
        comparison::parse(&text, known).map(|all| FaultStart::When(Trigger { text, all }))
    });
    let after = table.get("after", |value| after(&value::text(value)?, count));
    at.or(when).or(after).unwrap_or(FaultStart::At(Duration::ZERO))
}

/// `fault:1` or `fault:1 + 300ms`.
fn after(text: &str, count: usize) -> Result<FaultStart, String> {
    let (fault, delay) = text.split_once('+').unwrap_or((text, "0s"));
    let number = fault
        .trim()
        .strip_prefix("fault:")
        .and_then(|n| n.trim().parse::<usize>().ok());
    let Some(number) = number else {
        return Err(format!(
            "\"{text}\" does not name a fault; write it like \"fault:1\" or \"fault:1 + 300ms\""
        ));
    };
    if !(1..=count).contains(&number) {
        return Err(format!(
            "there is no fault:{number}; this scenario has fault:1 to fault:{count}"
        ));
    }
    Ok(FaultStart::After(number, value::parse_duration(delay.trim())?))
}

/// The earliest start of fault `n` (from 0), or the circle in which it waits for itself: `fault:1 after fault:2 after fault:1`,
/// without the middle of a long one. `None` if it waits for a circle that it is not part of (which is reported for the faults in
/// it), or for a fault that could not be read.
fn earliest(faults: &[FaultSpec], n: usize) -> Option<Result<Duration, String>> {
    const SHOWN: usize = 6;
    let (mut at, mut met, mut delays) = (n, Vec::new(), Duration::ZERO);
    // Whoever has met more faults than there are goes round in a circle.
    for _ in faults {
        met.push(at);
        match &faults.get(at)?.start {
            FaultStart::At(start) => return Some(Ok(start.saturating_add(delays))),
            FaultStart::When(_) => return Some(Ok(delays)),
            FaultStart::After(fault, delay) => {
                delays = delays.saturating_add(*delay);
                at = fault - 1;
            }
        }
        if at == n {
            let name = |at: &usize| format!("fault:{}", at + 1);
            let mut words: Vec<String> = met.iter().take(SHOWN).map(name).collect();
            words.extend((met.len() > SHOWN).then(|| "…".to_owned()));
            words.push(name(&n));
            return Some(Err(words.join(" after ")));
        }
    }
    None
}

/// `host:1,2`, `server:3`, `route:3-1`, `link:1-2`, `replication`, `sentinels`, `minority`, `majority`, `primary`, `replicas` or `all`.
fn targets(text: &str, lab: &LabSpec, servers: usize, known: Known<'_>) -> Result<Targets, String> {
    let text = text.trim();
    let seat = Seat::VARIANTS.iter().find(|seat| seat.word() == text);
    match seat {
        Some(seat) if lab.replicated.is_some() => Ok(Targets::By(*seat)),
        Some(Seat::Replicas) => Err(format!(
            "\"{text}\": there are no replicas: no arm has topology = \"replicated\""
        )),
        // Without a master the first host is the one that single locks are on.
        Some(Seat::Primary) => Ok(Targets::Named(vec![Target::Host(HostId(1))])),
        None => {
            let targets = named(text, lab.hosts, servers)?;
            let is_link = |target: &Target| target.kind() == TargetKind::Link;
            let has_clients = known.arms.iter().any(|arm| arm.lock == LockKind::Client);
            if targets.iter().any(|target| target.kind() == TargetKind::Client) && !has_clients {
                return Err(format!("\"{text}\": no arm has lock = \"client\""));
            }
            let is_route = |target: &Target| target.kind() == TargetKind::Route;
            let on_lock_nodes = |arm: &ArmSpec| matches!(arm.nodes(), LockNodes::OneHost | LockNodes::EveryHost);
            if targets.iter().any(is_route) && !known.arms.iter().any(on_lock_nodes) {
                return Err(format!(
                    "\"{text}\" needs an arm whose lock is on the lock nodes of hosts (single or redlock)"
                ));
            }
            if targets.iter().any(is_link) && lab.replicated.is_none() {
                return Err(format!(
                    "\"{text}\" needs an arm with topology = \"replicated\": independent nodes say nothing to each other"
                ));
            }
            Ok(Targets::Named(targets))
        }
    }
}

fn named(text: &str, hosts: usize, servers: usize) -> Result<Vec<Target>, String> {
    if let Some(group) = Link::GROUPS.into_iter().find(|link| link.word() == Some(text)) {
        return Ok(vec![Target::Link(group)]);
    }
    let first = |n: usize| (1..=n).map(|n| Target::Host(HostId(n))).collect();
    match text {
        "minority" if hosts < 3 => Err(format!(
            "{hosts} hosts have no minority; name the host, like \"host:1\""
        )),
        "minority" => Ok(first((hosts - 1) / 2)),
        "majority" => Ok(first(hosts / 2 + 1)),
        "all" => Ok(first(hosts)),
        other => match other.split_once(':') {
            Some((word, list)) if word == TargetKind::Link.word() => links(list, hosts),
            Some((word, list)) if word == TargetKind::Route.word() => routes(list, servers, hosts),
            Some((word, list)) if word == TargetKind::Host.word() => {
                numbers(list, word, hosts, |n| Target::Host(HostId(n)))
            }
            Some((word, list)) if word == TargetKind::Server.word() => {
                numbers(list, word, servers, |n| Target::Server(ServerId(n)))
            }
            Some((word, list)) if word == TargetKind::Client.word() => {
                numbers(list, word, servers, |n| Target::Client(ServerId(n)))
            }
            _ => {
                let kinds = [
                    TargetKind::Host,
                    TargetKind::Server,
                    TargetKind::Link,
                    TargetKind::Route,
                    TargetKind::Client,
                ];
                let kinds = kinds.map(TargetKind::word);
                let seats = Seat::VARIANTS.iter().map(|seat| seat.word());
                let groups = Link::GROUPS.into_iter().filter_map(Link::word);
                let words = ["minority", "majority", "all"].into_iter().chain(seats);
                let words = words.chain(kinds).chain(groups);
                let near = suggest::meant(other.split(':').next().unwrap_or(other), words);
                Err(format!(
                    "\"{other}\" is not host:1, host:1,2, server:3, client:3, minority, majority, primary, replicas, all, link:1-2, \
                     route:1-2, replication or sentinels{near}"
                ))
            }
        },
    }
}

fn numbers(list: &str, what: &str, most: usize, target: fn(usize) -> Target) -> Result<Vec<Target>, String> {
    let mut targets = Vec::new();
    for number in list.split(',').map(str::trim) {
        let n: usize = number
            .parse()
            .map_err(|_| format!("\"{number}\" is not a {what}; write it like \"{what}:1,2\""))?;
        if !(1..=most).contains(&n) {
            return Err(format!("there is no {what} {n}; {what}:1 to {what}:{most} are there"));
        }
        if targets.contains(&target(n)) {
            return Err(format!("names {what} {n} twice"));
        }
        targets.push(target(n));
    }
    Ok(targets)
}

/// The links of app servers and hosts in `1-2,1-3`.
fn routes(list: &str, servers: usize, hosts: usize) -> Result<Vec<Target>, String> {
    let mut found = Vec::new();
    for route in list.split(',').map(str::trim) {
        let ends = route
            .split_once('-')
            .and_then(|(server, host)| Some((server.trim().parse().ok()?, host.trim().parse().ok()?)));
        let Some((server, host)) = ends else {
            return Err(format!(
                "\"{route}\" is not the link of an app server and a host; write it like \"route:1-2\""
            ));
        };
        if !(1..=servers).contains(&server) {
            return Err(format!("there is no app server {server}; 1 to {servers} are there"));
        }
        if !(1..=hosts).contains(&host) {
            return Err(format!("there is no host {host}; host:1 to host:{hosts} are there"));
        }
        let target = Target::Link(Link::Route(ServerId(server), HostId(host)));
        if found.contains(&target) {
            return Err(format!("names {target} twice"));
        }
        found.push(target);
    }
    Ok(found)
}

/// The links in `1-2,1-3`.
fn links(list: &str, hosts: usize) -> Result<Vec<Target>, String> {
    let mut found: Vec<[HostId; 2]> = Vec::new();
    for link in list.split(',').map(str::trim) {
        let ends = link
            .split_once('-')
            .and_then(|(one, other)| Some([one.trim().parse().ok()?, other.trim().parse().ok()?]));
        let Some(ends) = ends else {
            return Err(format!("\"{link}\" is not a link; write it like \"link:1-2\""));
        };
        if let Some(none) = ends.iter().find(|end| !(1..=hosts).contains(end)) {
            return Err(format!("there is no host {none}; host:1 to host:{hosts} are there"));
        }
        let [one, other] = ends.map(HostId);
        if one == other {
            return Err(format!("{one} has no link to itself; write it like \"link:1-2\""));
        }
        if found.contains(&[one, other]) || found.contains(&[other, one]) {
            return Err(format!("names the link of hosts {} and {} twice", one.0, other.0));
        }
        found.push([one, other]);
    }
    let target = |[one, other]: [HostId; 2]| Target::Link(Link::Between(one, other));
    Ok(found.into_iter().map(target).collect())
}
