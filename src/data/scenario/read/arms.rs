//! `[[arm]]`.

use std::time::Duration;

use super::super::applicable::applicable;
use super::super::forms::{read_renew, read_wait, read_wait_in_line};
use super::super::keys::{Key, keys};
use super::super::lock::{LockKind, Topology};
use super::super::reader::Reader;
use super::super::spec::{ArmSpec, ClusterSpec, DatabaseSpec, LabSpec, Renew, Update};
use super::super::tree::Value;
use super::super::value;
use super::super::workload::{WorkloadName, WorkloadSpec};
use crate::model::Wait;

/// The most arms: each takes a share of the screen, the pools and the threads.
const MOST_ARMS: usize = 60;
/// With a shorter TTL, no useful validity is left: it is TTL − TTL/100 − 2 ms.
const LEAST_TTL: Duration = Duration::from_millis(5);
const NODE_TIMEOUT: Duration = Duration::from_millis(50);
/// How long one member of etcd may take: a write needs two disks.
const MEMBER_TIMEOUT: Duration = Duration::from_millis(500);
/// The shortest lease that etcd grants with its own election timeout of 1 s.
const LEAST_LEASE: Duration = Duration::from_secs(2);
/// How often a lease of etcd is kept alive, as its own client does.
const KEPT_ALIVE: Renew = Renew::Fraction(3);
/// How long a master waits for its replicas.
const WAIT_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) fn read(
    root: &mut Reader<'_>,
    lab: &LabSpec,
    workload: &WorkloadSpec,
    database: &DatabaseSpec,
) -> Vec<ArmSpec> {
    let written = root.has("arm");
    let mut tables = root.tables("arm");
    if !written || (tables.is_empty() && root.sound(&["arm"])) {
        let why = "there are no arms; a run needs at least one [[arm]] with a name and a lock";
        root.complain("arm", why);
    }
    if tables.len() > MOST_ARMS {
        let many = tables.len();
        root.complain("arm", format!("{many} arms are too many; {MOST_ARMS} at most"));
        // Errors in the others would add nothing.
        tables.truncate(MOST_ARMS);
    }
    let mut arms: Vec<ArmSpec> = Vec::new();
    for mut table in tables {
        let arm = arm(&mut table, lab, workload);
        if table.sound(&["name"]) && arms.iter().any(|other| other.name == arm.name) {
            let why = format!("two arms are called \"{}\"; each needs a name of its own", arm.name);
            table.complain("name", why);
        }
        let (by_session, by_row) = (arm.lock == LockKind::Postgres, arm.update == Update::RowLock);
        let key = if by_session { "lock" } else { "update" };
        if (by_session || by_row) && database.url.is_sqlite() && table.sound(&[key]) {
            let what = if by_session { "session" } else { "row" };
            let cure = "set [database] url = \"postgres://user@host/name\", or url_env";
            table.complain(key, format!("a {what} lock needs PostgreSQL: {cure}"));
        }
        table.finish();
        arms.push(arm);
    }
    arms
}

/// Refuses from now on the keys that don't apply to such an arm.
fn keep_to(table: &mut Reader<'_>, lock: LockKind, topology: Topology, workload: WorkloadName) {
    let keys = keys().filter(|key| key.section == "[[arm]]").flat_map(Key::each);
    table.without(keys.filter_map(|key| Some((key, applicable(key, lock, topology, workload).err()?))));
}

fn arm(table: &mut Reader<'_>, lab: &LabSpec, workload: &WorkloadSpec) -> ArmSpec {
    let name = table.need("name", "arm".to_owned(), "\"redlock\"", value::name);
    let lock = table.need("lock", LockKind::Single, "\"redlock\"", value::one_of);
    table.refuse(&["deadline"], "is now called \"timeout\"");
    let usual = lock.row().topologies[0];
    keep_to(table, lock, usual, workload.name());
    let topology = table.get("topology", |value| topology(value, lock)).unwrap_or(usual);
    keep_to(table, lock, topology, workload.name());
    let ttl = table.listed("ttl", value::millis);
    let wait = match lock.uses_nodes() {
        true => read_wait(table),
        false => read_wait_in_line(table),
    };
    let arm = ArmSpec {
        name,
        lock,
        command: match lock {
            LockKind::Client => table.need("command", Vec::new(), r#"["python3", "mine.py"]"#, command),
            _ => table.get("command", command).unwrap_or_default(),
        },
        ttl,
        renew: match lock {
            // Its leases are always kept alive.
            LockKind::Etcd => KEPT_ALIVE,
            _ => table.listed("renew", read_renew),
        },
        wait,
        timeout: table.listed("timeout", value::positive),
        node_timeout: table
            .get("node_timeout", value::positive)
            .unwrap_or_else(|| match lock {
                LockKind::Etcd => MEMBER_TIMEOUT,
                _ => NODE_TIMEOUT.min(ttl / 4),
            }),
        topology,
        follow: table.listed("follow", value::one_of),
        wait_replicas: table.listed("wait_replicas", |value| wait_replicas(value, lab, topology)),
        wait_timeout: table
            .get("wait_timeout", value::millis)
            .unwrap_or(WAIT_TIMEOUT.min(ttl / 4)),
        host: table.listed("host", value::host(lab.hosts)),
        hosts: table.get("hosts", |value| hosts(value, lab)),
        update: table.listed("update", value::one_of),
        fence: table.listed("fence", value::one_of),
        serve_stale: table.get("serve_stale", value::yes).unwrap_or(wait == Wait::FailFast),
        second_look: table.listed("second_look", value::yes),
        on_loss: table.listed("on_loss", value::one_of),
        lifetime: table.get("lifetime", value::positive),
        on_outage: table.listed("on_outage", value::one_of),
        release: table.listed("release", value::one_of),
        locks: table.listed("locks", value::one_of),
    };
    check_lease(table, &arm);
    check_etcd(table, &arm, lab);
    check_nodes(table, &arm, lab);
    check_hosts(table, &arm, lab.hosts);
    workload.about().check_arm(&arm, table);
    arm
}

fn topology(value: &Value, lock: LockKind) -> Result<Topology, String> {
    match (value::one_of(value)?, lock) {
        (topology, _) if lock.row().topologies.contains(&topology) => Ok(topology),
        (Topology::Cluster, _) => Err(
            "a single lock knows one node, and a cluster sends it to others: use lock = \"cluster\", which follows"
                .to_owned(),
        ),
        (_, _) => Err(
            "a redlock needs nodes that know nothing of each other, and replicas take no writes: use lock = \"single\""
                .to_owned(),
        ),
    }
}

/// A program and its arguments: nothing is left to a shell.
fn command(value: &Value) -> Result<Vec<String>, String> {
    let Value::Array(words) = value else {
        return Err(format!(
            "is {}; write the program and its arguments as a list of texts",
            value.kind()
        ));
    };
    match words
        .iter()
        .map(|word| value::text(&word.value))
        .collect::<Result<Vec<_>, _>>()?
    {
        words if words.is_empty() => Err("is empty; write the program and its arguments".to_owned()),
        words => Ok(words),
    }
}

fn hosts(value: &Value, lab: &LabSpec) -> Result<usize, String> {
    match value::whole(1..=9)(value)? {
        hosts if hosts > lab.hosts => Err(format!("{hosts} is more than the {} hosts of the lab", lab.hosts)),
        hosts => Ok(hosts),
    }
}

fn wait_replicas(value: &Value, lab: &LabSpec, topology: Topology) -> Result<usize, String> {
    let replicas = lab.hosts.saturating_sub(1);
    match value::whole(0..=8)(value)? {
        wanted @ 2.. if topology == Topology::Cluster => Err(format!(
            "{wanted} is more than the one replica that each master of a cluster has: no lock would ever be confirmed"
        )),
        wanted if wanted > replicas => Err(format!(
            "{wanted} is more than the {replicas} replicas that {} hosts have: no lock would ever be confirmed",
            lab.hosts
        )),
        wanted => Ok(wanted),
    }
}

/// Checks whether the times of a lock whose keys expire fit each other.
fn check_lease(table: &Reader<'_>, arm: &ArmSpec) {
    let ttl = value::show(arm.ttl);
    if arm.ttl < LEAST_TTL {
        let why = format!("a TTL of {ttl} leaves no validity (TTL − TTL/100 − 2ms); use 5ms or more");
        table.complain("ttl", why);
    }
    let renewal = arm.renew.interval(arm.ttl).filter(|every| *every >= arm.ttl);
    if let Some(every) = renewal.filter(|_| table.sound(&["ttl", "renew"])) {
        let every = value::show(every);
        let why = format!("renewing every {every} is too late for a TTL of {ttl}; \"ttl/3\" is usual");
        table.complain("renew", why);
    }
    if let Some(lifetime) = arm.lifetime.filter(|lifetime| *lifetime < arm.ttl)
        && table.sound(&["ttl", "lifetime"])
    {
        let lifetime = value::show(lifetime);
        let why = format!("{lifetime} is shorter than the TTL of {ttl}: no lock would last for its TTL; raise it");
        table.complain("lifetime", why);
    }
    if arm.wait_replicas > 0 && arm.wait_timeout >= arm.ttl && table.sound(&["ttl", "wait_timeout"]) {
        let timeout = value::show(arm.wait_timeout);
        let why = format!("{timeout} is not shorter than the TTL of {ttl}: waiting for replicas would use up the lock");
        table.complain("wait_timeout", why);
    }
    if arm.node_timeout >= arm.ttl && table.sound(&["ttl", "node_timeout"]) {
        let timeout = value::show(arm.node_timeout);
        let why =
            format!("{timeout} is not shorter than the TTL of {ttl}: waiting for one slow node would use up the lock");
        table.complain("node_timeout", why);
    }
}

/// Checks whether etcd could keep such a lock.
fn check_etcd(table: &Reader<'_>, arm: &ArmSpec, lab: &LabSpec) {
    if arm.lock != LockKind::Etcd {
        return;
    }
    if table.sound(&["ttl"]) && (arm.ttl < LEAST_LEASE || arm.ttl.subsec_nanos() > 0) {
        let ttl = value::show(arm.ttl);
        let why = format!(
            "{ttl} is no lease of etcd: it counts whole seconds, and grants none shorter than one and a half election timeouts; use 2s or more"
        );
        table.complain("ttl", why);
    }
    if !lab.are_ours() && table.sound(&["lock"]) {
        let why = "the nodes are not ours (lab.nodes), and etcd would be on our own hosts: leave one of the two out";
        table.complain("lock", why);
    } else if lab.hosts < 3 && table.sound(&["lock"]) {
        let why = format!(
            "etcd on hosts = {} proves nothing: the loss of one host stops it; set 3 or 5",
            lab.hosts
        );
        table.complain("lock", why);
    }
}

/// Checks whether such a lock can be on nodes that are not ours.
fn check_nodes(table: &Reader<'_>, arm: &ArmSpec, lab: &LabSpec) {
    if lab.are_ours() {
        return;
    }
    let (ttl, longest) = (value::show(arm.ttl), value::show(LabSpec::LONGEST_TTL_ELSEWHERE));
    if arm.lock.uses_nodes() && arm.ttl > LabSpec::LONGEST_TTL_ELSEWHERE {
        let why = format!(
            "{ttl} is too long on nodes that are not ours: whatever happens, nothing may stay there for more than {longest}"
        );
        table.complain("ttl", why);
    }
    let key = if arm.lock == LockKind::Cluster {
        "lock"
    } else {
        "topology"
    };
    if arm.topology != Topology::Independent && table.sound(&["lock", "topology"]) {
        let why = "the nodes are not ours (lab.nodes): each must be a server that knows no other, so only lock = \"single\" and \
                   \"redlock\" with topology = \"independent\" can use them";
        table.complain(key, why);
    }
}

/// Checks whether a lab with so many hosts shows anything of such a lock.
fn check_hosts(table: &Reader<'_>, arm: &ArmSpec, hosts: usize) {
    if arm.lock == LockKind::Redlock && table.sound(&["lock", "hosts"]) && arm.hosts.is_none() && hosts < 3 {
        let quorum = hosts / 2 + 1;
        let so = match hosts {
            1 => "it is a single lock under another name",
            _ => "the loss of one host stops it",
        };
        let why = format!(
            "a redlock on hosts = {hosts} has a quorum of {quorum}: {so}; set an odd number of hosts, 3 or more"
        );
        table.complain("lock", why);
    }
    if arm.topology == Topology::Replicated && table.sound(&["topology"]) && hosts < 3 {
        let so = match hosts {
            1 => "a master needs replicas on other hosts",
            _ => "with one host down, one Sentinel is not a majority, so nothing fails over",
        };
        let why = format!("a replicated topology on hosts = {hosts} proves nothing: {so}; set 3 or 5");
        table.complain("topology", why);
    }
    if arm.lock == LockKind::Cluster && table.sound(&["lock"]) && hosts < ClusterSpec::HOSTS {
        let why = format!(
            "a cluster on hosts = {hosts} can't replace a host: it has three masters, each on a host of its own; set 3 or more"
        );
        table.complain("lock", why);
    }
}
