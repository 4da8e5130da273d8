//! `[lab]`, `[swarm]` and `[database]`.

use std::env;
use std::time::Duration;

use super::super::database_url::DatabaseUrl;
use super::super::forms::service_time;
use super::super::reader::Reader;
use super::super::spec::{
    Arrivals, Balance, ClusterSpec, DatabaseSpec, LabSpec, Password, Persistence, ReplicatedSpec, ServiceTime,
    SwarmSpec,
};
use super::super::tree::{Origin, Value};
use super::super::value;
use super::nodes;
use crate::metrics::units::counted;

/// The shortest and the longest period of Sentinels: below the first they do little else, and above the second it would slow
/// down what they publish.
const SENTINEL_PERIODS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(2)];
/// The most workers in all arms together: each is a task with its own buffers.
const MOST_WORKERS: usize = 100_000;

pub(super) fn lab(mut reader: Reader<'_>) -> LabSpec {
    let nodes = nodes::read(&mut reader);
    let hosts = reader.whole("hosts");
    if let Some(nodes) = nodes {
        let count = nodes.urls.len();
        if let Some(hosts) = hosts.filter(|hosts| *hosts != count) {
            let servers = counted(count as u64, "server", "servers");
            let why = format!("{hosts} contradicts nodes, which names {servers}, one on each host; leave it out");
            reader.complain("hosts", why);
        }
        reader.finish();
        return LabSpec {
            hosts: count,
            persistence: Persistence::None,
            port: None,
            password: Password::Random,
            replicated: None,
            cluster: None,
            nodes: Some(nodes),
        };
    }
    let hosts = hosts.unwrap_or(3);
    let persistence = reader.or("persistence", Persistence::None, value::one_of);
    // Hosts listen on port, port + 1, …, and the cache node on port + hosts.
    let last = u64::from(u16::MAX) - hosts as u64;
    let port = reader.get("port", value::whole(1..=last));
    let password = reader.or("password", Password::Random, value::one_of);
    let replicated = reader
        .has("replicated")
        .then(|| replicated(reader.table("replicated"), hosts));
    let cluster = reader.has("cluster").then(|| cluster(reader.table("cluster")));
    reader.finish();
    LabSpec {
        hosts,
        persistence,
        port,
        password,
        replicated,
        cluster,
        nodes: None,
    }
}

/// `[lab.replicated]`.
fn replicated(mut reader: Reader<'_>, hosts: usize) -> ReplicatedSpec {
    let usual = ReplicatedSpec::default();
    let down_after = reader.or("down_after", usual.down_after, value::millis);
    let failover_timeout = reader.or("failover_timeout", usual.failover_timeout, value::millis);
    let least = reader
        .whole("min_replicas_to_write")
        .unwrap_or(usual.min_replicas_to_write);
    if least >= hosts && least > 0 && reader.sound(&["min_replicas_to_write"]) {
        let replicas = hosts - 1;
        let why =
            format!("{least} is more than the {replicas} replicas that {hosts} hosts have: nothing could be written");
        reader.complain("min_replicas_to_write", why);
    }
    let lag = reader.or("min_replicas_max_lag", usual.min_replicas_max_lag, whole_seconds);
    let preferred_host = reader.get("preferred_host", value::host(hosts));
    let sentinel_period = reader.get("sentinel_period", sentinel_period);
    reader.finish();
    ReplicatedSpec {
        down_after,
        failover_timeout,
        min_replicas_to_write: least,
        min_replicas_max_lag: lag,
        preferred_host,
        sentinel_period,
    }
}

fn sentinel_period(value: &Value) -> Result<Duration, String> {
    let [least, most] = SENTINEL_PERIODS;
    match value::millis(value)? {
        period if (least..=most).contains(&period) => Ok(period),
        period => Err(format!(
            "{} is out of range; {} to {}",
            value::show(period),
            value::show(least),
            value::show(most)
        )),
    }
}

/// `[lab.cluster]`.
fn cluster(mut reader: Reader<'_>) -> ClusterSpec {
    let usual = ClusterSpec::default();
    let node_timeout = reader.or("node_timeout", usual.node_timeout, value::millis);
    let full = reader.or("require_full_coverage", usual.require_full_coverage, value::yes);
    reader.finish();
    ClusterSpec {
        node_timeout,
        require_full_coverage: full,
    }
}

/// A duration that Redis counts in whole seconds.
fn whole_seconds(value: &Value) -> Result<Duration, String> {
    let time = value::positive(value)?;
    if time.subsec_nanos() == 0 {
        Ok(time)
    } else {
        Err(format!(
            "{} is not a whole number of seconds, which is what Redis counts it in",
            value::show(time)
        ))
    }
}

pub(super) fn swarm(mut reader: Reader<'_>, duration: Duration, arms: usize) -> SwarmSpec {
    let servers = reader.whole("servers").unwrap_or(4);
    let workers = reader.whole("workers").unwrap_or(16);
    let total = servers * workers * arms;
    if total > MOST_WORKERS && reader.sound(&["servers", "workers"]) {
        let sum = format!("{servers} servers × {workers} workers × {arms} arms are {total} workers");
        reader.complain("workers", format!("{sum}; {MOST_WORKERS} at most"));
    }
    let rate = reader.get("rate", value::rate);
    let balance: Option<Balance> = reader.get("balance", value::one_of);
    let arrivals: Option<Arrivals> = reader.get("arrivals", value::one_of);
    if rate.is_none() && reader.sound(&["rate"]) {
        for (key, given) in [("balance", balance.is_some()), ("arrivals", arrivals.is_some())] {
            if given {
                reader.complain(
                    key,
                    "needs rate: in a closed loop each worker takes its own requests; set rate, or leave it out",
                );
            }
        }
    }
    let requests = reader.whole("requests");
    let ramp = reader.or("ramp", Duration::ZERO, value::duration);
    let think = reader.or("think", Duration::ZERO, value::duration);
    if ramp > duration {
        let (ramp, duration) = (value::show(ramp), value::show(duration));
        reader.complain("ramp", format!("a ramp of {ramp} is longer than the run of {duration}"));
    }
    if rate.is_some() && !think.is_zero() {
        reader.complain(
            "think",
            "contradicts rate: requests at a rate start when they are due; leave one of them out",
        );
    }
    reader.finish();
    SwarmSpec {
        servers,
        workers,
        rate,
        balance: balance.unwrap_or_default(),
        arrivals: arrivals.unwrap_or_default(),
        requests,
        ramp,
        think,
    }
}

pub(super) fn database(mut reader: Reader<'_>) -> DatabaseSpec {
    let (url, url_env) = database_url(&mut reader);
    let read = service_time::read(&mut reader, "read", value::duration);
    let pool = reader.whole("pool").unwrap_or(5);
    reader.finish();
    DatabaseSpec {
        url,
        url_env,
        read: read.unwrap_or(ServiceTime::ZERO),
        pool,
    }
}

/// The URL, and the environment variable that it comes from, if any.
fn database_url(reader: &mut Reader<'_>) -> (DatabaseUrl, Option<String>) {
    let url = reader.get("url", |value| value::text(value)?.parse::<DatabaseUrl>());
    let from_env = reader.get("url_env", |value| {
        let name = value::text(value)?;
        // If somebody wrote the URL itself here by mistake, the message must not repeat it.
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(
                "is not the name of an environment variable; the URL itself belongs to database.url".to_owned(),
            );
        }
        match env::var(&name) {
            Ok(url) if !url.is_empty() => match url.parse::<DatabaseUrl>() {
                Ok(url) => Ok((url, name)),
                Err(why) => Err(format!("the URL in the environment variable {name}: {why}")),
            },
            _ => Err(format!(
                "the environment variable {name} is missing or empty; it must hold the database's URL"
            )),
        }
    });
    if reader.has("url") && reader.has("url_env") {
        reader.complain(
            "url_env",
            "contradicts url: the URL comes from one of them; leave the other out",
        );
    }
    if let Some((url, name)) = from_env {
        return (url, Some(name));
    }
    let mut url = url.unwrap_or_else(DatabaseUrl::sqlite);
    match reader.origin("url") {
        Origin::Flag(_) => url.expose(format!(
            "database.url: everybody on this machine can see a command line, and there is a password in this one; {ELSEWHERE}"
        )),
        Origin::Line(_) | Origin::File if reader.log.can_others_read() => url.expose(format!(
            "database.url: others on this machine can read this file, and there is a password in it: chmod 600 it, or {ELSEWHERE}"
        )),
        _ => {}
    }
    (url, None)
}

/// The places where nobody else can read a password.
const ELSEWHERE: &str = "leave it out and give it by PGPASSWORD or ~/.pgpass, or the whole URL by database.url_env";
