use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::network::source;
use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::{ClusterSpec, Persistence, ReplicatedSpec};

/// How a node was started, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// The settings of a node that speaks TLS on `port`, and plain text on its other port.
pub(crate) fn of_tls(files: &TlsFiles, port: u16) -> Vec<(&'static str, Vec<String>)> {
    let path = |path: &Path| vec![path.to_string_lossy().into_owned()];
    vec![
        ("tls-port", vec![port.to_string()]),
        ("tls-cert-file", path(&files.certificate)),
        ("tls-key-file", path(&files.key)),
        ("tls-ca-cert-file", path(&files.authority)),
        ("tls-auth-clients", vec!["no".to_owned()]),
    ]
}

/// The settings of a node behind a door of the proxy: what it says of where it is, if it says that by a setting, and the
/// address from which it reaches others.
pub(crate) fn of_door(name: NodeName, door: SocketAddr) -> Vec<(&'static str, Vec<String>)> {
    let source = source::of(name).map(|source| ("bind-source-addr", vec![source.to_string()]));
    let mut settings: Vec<_> = source.into_iter().collect();
    if name.role == Role::Replicated {
        settings.push(("replica-announce-ip", vec![door.ip().to_string()]));
        settings.push(("replica-announce-port", vec![door.port().to_string()]));
    }
    settings
}

/// The settings of a node, each with its values; all others have the server's defaults.
pub(crate) fn of(
    role: Role,
    persistence: Persistence,
    address: SocketAddr,
    dir: &Path,
) -> Vec<(&'static str, Vec<String>)> {
    let one = |value: &str| vec![value.to_owned()];
    let mut settings = vec![
        ("port", one(&address.port().to_string())),
        ("bind", one(&address.ip().to_string())),
        ("dir", one(&dir.to_string_lossy())),
        // To stdout, so that the same file gets what a program prints that never reads this setting.
        ("logfile", one("")),
        ("daemonize", one("no")),
    ];
    if role != Role::Sentinel {
        settings.extend(of_data(role, persistence));
    }
    if role == Role::Replicated || role.is_in_cluster() {
        // The default delay of 5 s, in which a master collects replicas, would be added to every start.
        settings.push(("repl-diskless-sync-delay", one("0")));
    }
    settings
}

/// What the replicated node of this host is given besides.
pub(crate) fn of_replicated(spec: &ReplicatedSpec, host: Option<HostId>) -> Vec<(&'static str, Vec<String>)> {
    let is_preferred = spec.preferred_host.is_some() && spec.preferred_host == host;
    // The lowest one is chosen first; 0 would mean never, and all others have 100.
    let priority = is_preferred.then(|| ("replica-priority", vec!["1".to_owned()]));
    let mut settings = vec![
        ("min-replicas-to-write", vec![spec.min_replicas_to_write.to_string()]),
        (
            "min-replicas-max-lag",
            vec![spec.min_replicas_max_lag.as_secs().to_string()],
        ),
    ];
    settings.extend(priority);
    settings
}

/// What a node of the cluster is given besides. The others talk to it at the port `bus`.
pub(crate) fn of_cluster(spec: &ClusterSpec, ip: IpAddr, bus: u16) -> Vec<(&'static str, Vec<String>)> {
    let all_slots = if spec.require_full_coverage { "yes" } else { "no" };
    vec![
        ("cluster-enabled", vec!["yes".to_owned()]),
        ("cluster-config-file", vec!["nodes.conf".to_owned()]),
        ("cluster-port", vec![bus.to_string()]),
        ("cluster-announce-ip", vec![ip.to_string()]),
        ("cluster-node-timeout", vec![spec.node_timeout.as_millis().to_string()]),
        ("cluster-require-full-coverage", vec![all_slots.to_owned()]),
    ]
}

/// The settings of a node that has data.
fn of_data(role: Role, persistence: Persistence) -> Vec<(&'static str, Vec<String>)> {
    let (save, append, fsync): (&[&str], _, _) = match (role, persistence) {
        (Role::Cache, _) | (_, Persistence::None) => (&[""], "no", None),
        (_, Persistence::Rdb) => (&["60", "1"], "no", None),
        (_, Persistence::AofEverysec) => (&[""], "yes", Some("everysec")),
        (_, Persistence::AofAlways) => (&[""], "yes", Some("always")),
    };
    let one = |value: &str| vec![value.to_owned()];
    let mut settings = vec![
        ("databases", one("64")),
        // Eviction would lose locks.
        ("maxmemory-policy", one("noeviction")),
        ("save", save.iter().map(ToString::to_string).collect()),
        ("appendonly", one(append)),
    ];
    settings.extend(fsync.map(|fsync| ("appendfsync", one(fsync))));
    settings
}

/// Whether a server that runs can be given this setting.
pub(crate) fn can_change(name: &str) -> bool {
    !matches!(name, "port" | "bind" | "dir" | "logfile" | "daemonize" | "databases")
}

/// Settings as command line arguments.
pub(crate) fn arguments(settings: &[(&'static str, Vec<String>)]) -> Vec<String> {
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
