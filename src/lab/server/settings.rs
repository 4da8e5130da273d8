use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network::source;
use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::{ClusterSpec, Persistence, ReplicatedSpec};

/// How a node was started, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSettings {
    /// The node: `role`, and `host` if it is on one.
    #[serde(flatten)]
    pub name: NodeName,
    /// Its address: host and port.
    pub address: String,
    /// Program and version, for example `redis-server 7.0.15`; `not ours` of a server that we have not started.
    pub server: String,
    /// The settings that it was started with; all others have the server's defaults.
    pub settings: BTreeMap<String, String>,
}

/// The files for TLS, all in PEM format, with absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of every node, valid for 127.0.0.1.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The certificate of the authority that signed it.
    pub authority: PathBuf,
}

/// A setting with its values.
type Setting = (&'static str, Vec<String>);

fn one(name: &'static str, value: &(impl ToString + ?Sized)) -> Setting {
    (name, vec![value.to_string()])
}

/// The settings of a node that speaks TLS on `port`, and plain text on its other port.
pub(crate) fn of_tls(files: &TlsFiles, port: u16) -> Vec<Setting> {
    vec![
        one("tls-port", &port),
        one("tls-cert-file", &files.certificate.display()),
        one("tls-key-file", &files.key.display()),
        one("tls-ca-cert-file", &files.authority.display()),
        one("tls-auth-clients", "no"),
    ]
}

/// The settings of a node behind a door of the proxy: what it says of where it is, if it says that by a setting, and the
/// address from which it reaches others.
pub(crate) fn of_door(name: NodeName, door: SocketAddr) -> Vec<Setting> {
    let source = source::of(name).map(|source| one("bind-source-addr", &source));
    let mut settings: Vec<_> = source.into_iter().collect();
    if name.role == Role::Replicated {
        settings.push(one("replica-announce-ip", &door.ip()));
        settings.push(one("replica-announce-port", &door.port()));
    }
    settings
}

/// The settings of a node, each with its values; all others have the server's defaults.
pub(crate) fn of(role: Role, persistence: Persistence, address: SocketAddr, dir: &Path) -> Vec<Setting> {
    let mut settings = vec![
        one("port", &address.port()),
        one("bind", &address.ip()),
        one("dir", &dir.display()),
        // To stdout, so that the same file gets what a program prints that never reads this setting.
        one("logfile", ""),
        one("daemonize", "no"),
    ];
    if role != Role::Sentinel {
        settings.extend(of_data(role, persistence));
    }
    if role == Role::Replicated || role.is_in_cluster() {
        // The default delay of 5 s, in which a master collects replicas, would be added to every start.
        settings.push(one("repl-diskless-sync-delay", &0));
    }
    settings
}

/// What the replicated node of this host is given besides.
pub(crate) fn of_replicated(spec: &ReplicatedSpec, host: Option<HostId>) -> Vec<Setting> {
    let is_preferred = spec.preferred_host.is_some() && spec.preferred_host == host;
    // The lowest one is chosen first; 0 would mean never, and all others have 100.
    let priority = is_preferred.then(|| one("replica-priority", &1));
    let mut settings = vec![
        one("min-replicas-to-write", &spec.min_replicas_to_write),
        one("min-replicas-max-lag", &spec.min_replicas_max_lag.as_secs()),
    ];
    settings.extend(priority);
    settings
}

/// What a node of the cluster is given besides. The others talk to it at the port `bus`.
pub(crate) fn of_cluster(spec: &ClusterSpec, ip: IpAddr, bus: u16) -> Vec<Setting> {
    let all_slots = if spec.require_full_coverage { "yes" } else { "no" };
    vec![
        one("cluster-enabled", "yes"),
        one("cluster-config-file", "nodes.conf"),
        one("cluster-port", &bus),
        one("cluster-announce-ip", &ip),
        one("cluster-node-timeout", &spec.node_timeout.as_millis()),
        one("cluster-require-full-coverage", all_slots),
    ]
}

/// The settings of a node that has data.
fn of_data(role: Role, persistence: Persistence) -> Vec<Setting> {
    let (save, append, fsync): (&[&str], _, _) = match (role, persistence) {
        (Role::Cache, _) | (_, Persistence::None) => (&[""], "no", None),
        (_, Persistence::Rdb) => (&["60", "1"], "no", None),
        (_, Persistence::AofEverysec) => (&[""], "yes", Some("everysec")),
        (_, Persistence::AofAlways) => (&[""], "yes", Some("always")),
    };
    let mut settings = vec![
        one("databases", &64),
        // As much as there is, also on a server that somebody else has started. Eviction would lose locks.
        one("maxmemory", &0),
        one("maxmemory-policy", "noeviction"),
        ("save", save.iter().map(ToString::to_string).collect()),
        one("appendonly", append),
    ];
    settings.extend(fsync.map(|fsync| one("appendfsync", fsync)));
    settings
}

/// Whether a server that runs can be given this setting.
pub(crate) fn can_change(name: &str) -> bool {
    !matches!(name, "port" | "bind" | "dir" | "logfile" | "daemonize" | "databases")
}

/// Settings as command line arguments.
pub(crate) fn arguments(settings: &[Setting]) -> Vec<String> {
    settings
        .iter()
        .flat_map(|(name, values)| std::iter::once(format!("--{name}")).chain(values.iter().cloned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: Role, persistence: Persistence) -> String {
        arguments(&of(
            role,
            persistence,
            ([127, 0, 0, 1], 7001).into(),
            Path::new("/run/host-1"),
        ))
        .join(" ")
    }

    #[test]
    fn persistence_becomes_arguments() {
        let host = Role::Lock;
        assert!(line(host, Persistence::None).ends_with("--save  --appendonly no"));
        assert!(line(host, Persistence::Rdb).ends_with("--save 60 1 --appendonly no"));
        assert!(line(host, Persistence::AofEverysec).ends_with("--appendonly yes --appendfsync everysec"));
        assert!(line(host, Persistence::AofAlways).ends_with("--appendonly yes --appendfsync always"));
    }

    #[test]
    fn the_cache_node_keeps_nothing() {
        assert_eq!(
            line(Role::Cache, Persistence::AofAlways),
            line(Role::Cache, Persistence::None)
        );
    }
}
