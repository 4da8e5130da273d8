//! `[[arm]]`.

use std::time::Duration;

use super::super::reader::Reader;
use super::super::spec::{ArmSpec, Fence, LabSpec, LockKind, OnLoss, Renew, StockIn, Update, WorkloadSpec};
use super::super::suggest;
use super::super::tree::Value;
use super::super::value;
use super::kind;
use crate::model::{HostId, Wait};

const LOCKS: &[(&str, LockKind)] = &[
    ("none", LockKind::None),
    ("local", LockKind::Local),
    ("single", LockKind::Single),
    ("redlock", LockKind::Redlock),
];
const UPDATES: &[(&str, Update)] = &[("read-write", Update::ReadWrite), ("atomic", Update::Atomic)];
const FENCES: &[(&str, Fence)] = &[
    ("off", Fence::Off),
    ("write", Fence::Write),
    ("read-write", Fence::ReadWrite),
];
const ON_LOSS: &[(&str, OnLoss)] = &[("carry-on", OnLoss::CarryOn), ("abort", OnLoss::Abort)];

/// The most arms: each takes a share of the screen, the pools and the threads.
const MOST_ARMS: usize = 60;
const TTL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(5);
/// Below this, validity = TTL − TTL/100 − 2 ms leaves nothing worth the name.
const LEAST_TTL: Duration = Duration::from_millis(5);
const NODE_TIMEOUT: Duration = Duration::from_millis(50);
const RETRIES: Wait = Wait::Retry {
    retries: 20,
    delay: Duration::from_millis(20),
    jitter: Duration::from_millis(20),
};

pub(super) fn read(root: &mut Reader<'_>, lab: &LabSpec, workload: &WorkloadSpec) -> Vec<ArmSpec> {
    let written = root.has("arm");
    let mut tables = root.tables("arm");
    if !written || (tables.is_empty() && root.sound(&["arm"])) {
        root.complain(
            "arm",
            "there are no arms; a run needs at least one [[arm]] with a name and a lock",
        );
    }
    if tables.len() > MOST_ARMS {
        root.complain(
            "arm",
            format!("{} arms are too many; {MOST_ARMS} at most", tables.len()),
        );
        // The others would only be blamed for more of the same.
        tables.truncate(MOST_ARMS);
    }
    let mut arms: Vec<ArmSpec> = Vec::new();
    for mut table in tables {
        let arm = arm(&mut table, lab, workload);
        if table.sound(&["name"]) && arms.iter().any(|other| other.name == arm.name) {
            table.complain(
                "name",
                format!("two arms are called \"{}\"; each needs a name of its own", arm.name),
            );
        }
        table.finish();
        arms.push(arm);
    }
    arms
}

fn arm(table: &mut Reader<'_>, lab: &LabSpec, workload: &WorkloadSpec) -> ArmSpec {
    let name = table.need("name", "arm".to_owned(), "\"redlock\"", value::name);
    let lock = table.need("lock", LockKind::Single, "\"redlock\"", value::word(LOCKS));
    let (ttl, renew, node_timeout, on_loss) = lease(table, lock);
    let wait = wait(table, lock);
    table.refuse(&["deadline"], "is called \"timeout\" now");
    let timeout = match lock {
        LockKind::None => {
            table.refuse(&["timeout"], "makes no sense without a lock");
            TIMEOUT
        }
        _ => table.or("timeout", TIMEOUT, value::positive),
    };
    let host = host(table, lock, lab);
    if lock == LockKind::Redlock && table.sound(&["lock"]) && lab.hosts < 3 {
        table.complain("lock", too_few_hosts(lab.hosts));
    }
    let update = update(table, lock, workload);
    let fence = fence(table, update, workload);
    let (serve_stale, second_look) = looks(table, lock, wait, workload);
    ArmSpec {
        name,
        lock,
        ttl,
        renew,
        wait,
        timeout,
        node_timeout,
        host,
        update,
        fence,
        serve_stale,
        second_look,
        on_loss,
    }
}

fn too_few_hosts(hosts: usize) -> String {
    let quorum = hosts / 2 + 1;
    let so = if hosts == 1 {
        "it is a single lock under another name"
    } else {
        "the loss of one host stops it"
    };
    format!("a redlock on hosts = {hosts} has a quorum of {quorum}: {so}; set an odd number of hosts, 3 or more")
}

/// What only a lock with keys on nodes has.
fn lease(table: &mut Reader<'_>, lock: LockKind) -> (Duration, Renew, Duration, OnLoss) {
    if !lock.uses_nodes() {
        let why = "makes no sense for a lock without nodes; it belongs to lock = \"single\" or \"redlock\"";
        table.refuse(&["ttl", "renew", "node_timeout", "on_loss"], why);
        return (TTL, Renew::Off, NODE_TIMEOUT, OnLoss::CarryOn);
    }
    let ttl = table.or("ttl", TTL, value::millis);
    if ttl < LEAST_TTL {
        let why = format!(
            "a TTL of {} leaves no validity (TTL − TTL/100 − 2ms); 5ms at least",
            value::show(ttl)
        );
        table.complain("ttl", why);
    }
    let renew = table.or("renew", Renew::Off, renew);
    if let Some(every) = renew
        .interval(ttl)
        .filter(|every| *every >= ttl && table.sound(&["ttl", "renew"]))
    {
        let (every, ttl) = (value::show(every), value::show(ttl));
        table.complain(
            "renew",
            format!("renewing every {every} comes after the TTL of {ttl}; \"ttl/3\" is usual"),
        );
    }
    let node_timeout = table.or("node_timeout", NODE_TIMEOUT.min(ttl / 4), value::positive);
    if node_timeout >= ttl && table.sound(&["ttl", "node_timeout"]) {
        let (timeout, ttl) = (value::show(node_timeout), value::show(ttl));
        let why = format!("{timeout} is not shorter than the TTL of {ttl}: a slow node would cost the whole lock");
        table.complain("node_timeout", why);
    }
    (
        ttl,
        renew,
        node_timeout,
        table.or("on_loss", OnLoss::CarryOn, value::word(ON_LOSS)),
    )
}

/// `"off"`, `"ttl/2"`, `"ttl/3"` or a duration.
fn renew(value: &Value) -> Result<Renew, String> {
    match value {
        Value::Text(text) if text == "off" => Ok(Renew::Off),
        Value::Text(text) if text == "ttl/2" => Ok(Renew::Fraction(2)),
        Value::Text(text) if text == "ttl/3" => Ok(Renew::Fraction(3)),
        Value::Text(text) if !text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            Err(format!("\"{text}\" is not off, ttl/2, ttl/3 or a duration"))
        }
        other => value::positive(other).map(Renew::Every),
    }
}

/// `"fail-fast"`, `"queue"` or `{ retries, delay, jitter }`.
fn wait(table: &mut Reader<'_>, lock: LockKind) -> Wait {
    const WORDS: &[(&str, Wait)] = &[("fail-fast", Wait::FailFast), ("queue", Wait::Queue)];
    if lock == LockKind::None {
        table.refuse(&["wait"], "makes no sense without a lock");
        return RETRIES;
    }
    if lock == LockKind::Local && table.has("wait") {
        let queue = "an in-process mutex wakes its waiters in line; leave wait out, or write \"fail-fast\"";
        return table.or("wait", RETRIES, |value| match value {
            Value::Text(text) if text == "fail-fast" => Ok(Wait::FailFast),
            _ => Err(queue.to_owned()),
        });
    }
    if !table.is_table("wait") {
        return table.or("wait", RETRIES, |value| {
            let forms = "fail-fast, queue or a table like { retries = 20, delay = \"20ms\" }";
            let Value::Text(text) = value else {
                return Err(format!("is {}; it is {forms}", value.kind()));
            };
            let found = WORDS.iter().find(|(word, _)| word == text).map(|(_, wait)| *wait);
            let meant = || suggest::meant(text, WORDS.iter().map(|(word, _)| *word));
            found.ok_or_else(|| format!("\"{text}\" is not {forms}{}", meant()))
        });
    }
    let mut retry = table.table("wait");
    let retries = retry.need("retries", 20, "20", value::small(1..=1_000_000));
    let delay = retry.or("delay", Duration::from_millis(20), value::positive);
    let jitter = retry.or("jitter", delay, value::duration);
    retry.finish();
    Wait::Retry { retries, delay, jitter }
}

fn host(table: &mut Reader<'_>, lock: LockKind, lab: &LabSpec) -> HostId {
    if lock != LockKind::Single {
        table.refuse(&["host"], "makes no sense here; only lock = \"single\" chooses a host");
        return HostId(1);
    }
    HostId(table.or("host", 1, |value| match value::size(1..=9)(value)? {
        host if host > lab.hosts => Err(format!("there is no host {host}; the lab has {}", lab.hosts)),
        host => Ok(host),
    }))
}

fn update(table: &mut Reader<'_>, lock: LockKind, workload: &WorkloadSpec) -> Update {
    let WorkloadSpec::Inventory(_) = workload else {
        table.refuse(
            &["update"],
            "makes no sense in a cache-fill workload; it belongs to kind = \"inventory\"",
        );
        return Update::ReadWrite;
    };
    let update = table.or("update", Update::ReadWrite, value::word(UPDATES));
    if update == Update::Atomic && lock != LockKind::None && table.sound(&["lock"]) {
        table.complain("update", "an atomic update needs no lock; write lock = \"none\"");
    }
    update
}

/// A fence belongs to the stock, not to the lock: any lock may have one, and without a lock it is optimistic locking.
fn fence(table: &mut Reader<'_>, update: Update, workload: &WorkloadSpec) -> Fence {
    let WorkloadSpec::Inventory(inventory) = workload else {
        table.refuse(
            &["fence"],
            "makes no sense in a cache-fill workload; it belongs to kind = \"inventory\"",
        );
        return Fence::Off;
    };
    let fence = table.or("fence", Fence::Off, value::word(FENCES));
    if fence != Fence::Off && inventory.stock_in == StockIn::Redis {
        table.complain(
            "fence",
            "is checked by the database, and the stock is in Redis; leave out workload.stock_in",
        );
    } else if fence != Fence::Off && update == Update::Atomic {
        table.complain(
            "fence",
            "guards a write that follows a read, and an atomic update reads nothing; leave out one of the two",
        );
    }
    fence
}

fn looks(table: &mut Reader<'_>, lock: LockKind, wait: Wait, workload: &WorkloadSpec) -> (bool, bool) {
    let keys = ["serve_stale", "second_look"];
    let stale = wait == Wait::FailFast;
    if lock == LockKind::None {
        table.refuse(&keys, "makes no sense without a lock");
        return (stale, true);
    }
    let WorkloadSpec::CacheFill { .. } = workload else {
        let why = format!(
            "makes no sense in an {} workload; it belongs to kind = \"cache-fill\"",
            kind(workload)
        );
        table.refuse(&keys, &why);
        return (stale, true);
    };
    (
        table.or("serve_stale", stale, value::yes),
        table.or("second_look", true, value::yes),
    )
}
