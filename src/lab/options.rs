use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;
use crate::server::binary::ServerBinary;
use crate::server::settings::TlsFiles;

/// The options of a lab.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// The server program of all nodes.
    pub binary: ServerBinary,
    /// The program that becomes the keeper when its first argument is [`keeper::ARGUMENT`](crate::keeper::ARGUMENT).
    pub keeper: PathBuf,
    /// The etcd of labs that have one; `None`: the first on PATH.
    pub etcd: Option<PathBuf>,
    /// How long a node may take to answer after its start or restart.
    pub start_timeout: Duration,
    /// If set, every lock node speaks TLS too, on a port of its own. A server that was built without TLS then fails to
    /// start.
    pub tls: Option<TlsFiles>,
    /// Whether there is a proxy between the nodes of the hosts and those who use them. Faults of the network need it.
    pub proxy: bool,
    /// How many app servers have doors of their own to the lock nodes in that proxy, so that the connections of one can be broken.
    pub routes: usize,
    /// Whether hosts will be cut off, which only containers can be.
    pub cuts: bool,
    /// Whether the servers are started with our library, which faults of clocks and power need. Such a server needs some .4 µs more for
    /// each command.
    pub preload: bool,
    /// Whether a node must come back at its port even if somebody else has taken that while it was down, because its users
    /// keep its first address. With ports that the scenario chose it must in any case.
    pub ports_stay: bool,
}

impl LabOptions {
    /// This program as the keeper, which its `main` must then become ([`keeper::main`](crate::keeper::main)), 10 s for a node to start, no TLS, no proxy, and nodes that may come back at another port.
    ///
    /// # Errors
    /// The path of this program can't be found.
    pub fn new(binary: ServerBinary) -> Result<Self, LabError> {
        let mut keeper = std::env::current_exe().map_err(|error| LabError::KeeperStart(error.to_string()))?;
        if cfg!(target_os = "linux") && !keeper.exists() {
            // The file was replaced while it runs, by a build or an update; the kernel still has it.
            keeper = PathBuf::from("/proc/self/exe");
        }
        Ok(Self {
            binary,
            keeper,
            etcd: None,
            start_timeout: Duration::from_secs(10),
            tls: None,
            proxy: false,
            routes: 0,
            cuts: false,
            preload: false,
            ports_stay: false,
        })
    }
}
