use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::node_name::{NodeName, Role};
use crate::scenario::{Persistence, ReplicatedSpec};

/// How a node was started, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSettings {
    /// The node: `role`, and `host` if it is on one.
    #[serde(flatten)]
    pub name: NodeName,
    /// Its address.
    pub address: SocketAddr,
    /// Program and version, for example `redis-server 7.0.15`.
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
pub(super) fn of_tls(files: &TlsFiles, port: u16) -> Vec<(&'static str, Vec<String>)> {
    let path = |path: &Path| vec![path.to_string_lossy().into_owned()];
    vec![
        ("tls-port", vec![port.to_string()]),
        ("tls-cert-file", path(&files.certificate)),
        ("tls-key-file", path(&files.key)),
        ("tls-ca-cert-file", path(&files.authority)),
        ("tls-auth-clients", vec!["no".to_owned()]),
    ]
}

/// The settings of a node, each with its values; all others have the server's defaults.
pub(super) fn of(
    role: Role,
    persistence: Persistence,
    replicated: Option<&ReplicatedSpec>,
    port: u16,
    dir: &Path,
) -> Vec<(&'static str, Vec<String>)> {
    let one = |value: &str| vec![value.to_owned()];
    let mut settings = vec![
        ("port", one(&port.to_string())),
        ("bind", one("127.0.0.1")),
        ("dir", one(&dir.to_string_lossy())),
        // To stdout, so that the same file gets what a program prints that never reads this setting.
        ("logfile", one("")),
        ("daemonize", one("no")),
    ];
    match role {
        Role::Sentinel => {}
        Role::Lock | Role::Cache => settings.extend(of_data(role, persistence)),
        Role::Replicated => {
            settings.extend(of_data(role, persistence));
            // The default delay of 5 s, in which a master collects replicas, would be added to every start.
            settings.push(("repl-diskless-sync-delay", one("0")));
            if let Some(spec) = replicated {
                let lag = spec.min_replicas_max_lag.as_secs().to_string();
                settings.push(("min-replicas-to-write", one(&spec.min_replicas_to_write.to_string())));
                settings.push(("min-replicas-max-lag", one(&lag)));
            }
        }
    }
    settings
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

/// Settings as command line arguments.
pub(super) fn arguments(settings: &[(&'static str, Vec<String>)]) -> Vec<String> {
    settings
        .iter()
        .flat_map(|(name, values)| std::iter::once(format!("--{name}")).chain(values.iter().cloned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: Role, persistence: Persistence) -> String {
        arguments(&of(role, persistence, None, 7001, Path::new("/run/host-1"))).join(" ")
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
