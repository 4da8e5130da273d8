//! Where a kept lab is, for the programs that use it.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::directory::opened_run::OpenedRun;
use crate::lab::Lab;
use crate::server::secret_url::secret_url;
use crate::topology::replication::MASTER_NAME;
use lockstorm_lock::NodeAddress;

/// The file with the URLs of the lock nodes.
const NODES: &str = "urls";
/// The file with the URLs of the Sentinels.
const SENTINELS: &str = "sentinel-urls";

/// The URLs of a lab. Passwords are in files that only this user can read, and nowhere here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Urls {
    /// The lock nodes, in the order of the hosts.
    pub nodes: Vec<String>,
    /// The Sentinels, in the order of the hosts; none if there are no replicated nodes.
    pub sentinels: Vec<String>,
    /// The name of the master that Sentinels are asked for, if there are Sentinels.
    pub master_name: Option<String>,
    /// The file with the URLs of the lock nodes with their password, with commas between; `None`: they require none.
    pub nodes_file: Option<PathBuf>,
    /// The file with the URLs of the Sentinels with their password, with commas between; `None`: they require none, or there are
    /// none.
    pub sentinels_file: Option<PathBuf>,
}

impl Urls {
    /// Those of this lab. If it has a password, this writes the files.
    pub(super) fn of(lab: &Lab, run: &OpenedRun) -> io::Result<Self> {
        let nodes: Vec<NodeAddress> = lab.lock_nodes().into_iter().map(|(_, address)| address).collect();
        let sentinels = lab
            .replicated_nodes()
            .map(|(sentinels, _)| sentinels)
            .unwrap_or_default();
        let plain = |addresses: &[NodeAddress]| addresses.iter().map(|address| format!("redis://{address}")).collect();
        let file = |name: &str, addresses: &[NodeAddress]| {
            let guarded = addresses.iter().filter(|address| address.credentials().is_some());
            let secret: Vec<String> = guarded.map(secret_url).collect();
            let has_secrets = !secret.is_empty();
            has_secrets
                .then(|| run.create(name, &format!("{}\n", secret.join(","))))
                .transpose()
        };
        Ok(Self {
            master_name: (!sentinels.is_empty()).then(|| MASTER_NAME.to_owned()),
            nodes_file: file(NODES, &nodes)?,
            sentinels_file: file(SENTINELS, &sentinels)?,
            nodes: plain(&nodes),
            sentinels: plain(&sentinels),
        })
    }
}
