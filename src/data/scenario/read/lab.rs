//! `[lab]`.

use std::time::Duration;

use super::super::reader::Reader;
use super::super::spec::{ClusterSpec, LabSpec, ReplicatedSpec};
use super::super::tree::Value;
use super::super::value;
use super::nodes;
use crate::metrics::units::counted;

/// The shortest and the longest period of Sentinels: below the first they do little else, and above the second it would slow
/// down what they publish.
const SENTINEL_PERIODS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(2)];

pub(super) fn read(mut reader: Reader<'_>) -> LabSpec {
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
            nodes: Some(nodes),
            ..LabSpec::of(count)
        };
    }
    let hosts = hosts.unwrap_or_else(|| reader.left_out("hosts", value::whole(1..=9)));
    let persistence = reader.listed("persistence", value::one_of);
    // Hosts listen on port, port + 1, …, and the cache node on port + hosts.
    let last = u64::from(u16::MAX) - hosts as u64;
    let port = reader.get("port", value::whole(1..=last));
    let password = reader.listed("password", value::one_of);
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
        // If an arm needs it.
        etcd: false,
        nodes: None,
    }
}

/// `[lab.replicated]`.
fn replicated(mut reader: Reader<'_>, hosts: usize) -> ReplicatedSpec {
    let spec = ReplicatedSpec {
        down_after: reader.listed("down_after", value::millis),
        failover_timeout: reader.listed("failover_timeout", value::millis),
        min_replicas_to_write: reader.listed("min_replicas_to_write", |value| least_replicas(value, hosts)),
        min_replicas_max_lag: reader.listed("min_replicas_max_lag", value::seconds),
        preferred_host: reader.get("preferred_host", value::host(hosts)),
        sentinel_period: reader.get("sentinel_period", sentinel_period),
    };
    reader.finish();
    spec
}

fn least_replicas(value: &Value, hosts: usize) -> Result<usize, String> {
    match value::whole(0..=8)(value)? {
        least if least >= hosts && least > 0 => {
            let replicas = hosts - 1;
            let why = "nothing could be written";
            Err(format!(
                "{least} is more than the {replicas} replicas that {hosts} hosts have: {why}"
            ))
        }
        least => Ok(least),
    }
}

fn sentinel_period(value: &Value) -> Result<Duration, String> {
    let [least, most] = SENTINEL_PERIODS;
    match value::millis(value)? {
        period if (least..=most).contains(&period) => Ok(period),
        period => {
            let [period, least, most] = [period, least, most].map(value::show);
            Err(format!("{period} is out of range; {least} to {most}"))
        }
    }
}

/// `[lab.cluster]`.
fn cluster(mut reader: Reader<'_>) -> ClusterSpec {
    let spec = ClusterSpec {
        node_timeout: reader.listed("node_timeout", value::millis),
        require_full_coverage: reader.listed("require_full_coverage", value::yes),
    };
    reader.finish();
    spec
}
