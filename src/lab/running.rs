//! This user's labs that are up now, for other programs: each lab has a file in its run directory that says where its
//! nodes are.

use std::fs::TryLockError;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::cli::session::Cli;
use crate::directory::base_dir::BaseDir;
use crate::directory::password;
use crate::directory::run_dir::{self, PREFIX};
use crate::error::LabError;
use crate::server::install;
use crate::server::node_name::{NodeName, Role};
use crate::server::nodes::Nodes;
use crate::server::programs;
use lockstorm_base::input;
use lockstorm_lock::NodeAddress;

/// The file in the run directory.
const FILE: &str = "lab.json";
/// The largest such file that is read, in MB.
const LARGEST: u64 = 1;
/// The command line clients; both work with both servers.
const CLIENTS: [&str; 2] = ["redis-cli", "valkey-cli"];

/// The contents of that file. It does not contain the password.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Card {
    nodes: Vec<(NodeName, SocketAddr)>,
    /// The ports of the proxy.
    #[serde(default)]
    doors: Vec<u16>,
    server: PathBuf,
}

/// Whether the proxy of a lab of this user listens on this port.
pub(crate) fn has_door(port: u16) -> bool {
    let is_there = |lab: &Running| lab.card.doors.contains(&port);
    Running::all().is_ok_and(|labs| labs.iter().any(is_there))
}

/// Writes the present addresses of a lab's nodes, once all of them have been up; again when one has moved.
pub(super) fn announce(run_dir: &Path, nodes: &Nodes) -> Result<(), LabError> {
    // Otherwise older addresses could replace newer ones.
    let _turn = nodes.listing.lock().unwrap_or_else(PoisonError::into_inner);
    let card = Card {
        // Nobody gets the password of a server that is not ours from us.
        nodes: nodes
            .all()
            .filter(|node| node.is_ours)
            .map(|node| (node.name, node.address()))
            .collect(),
        doors: nodes.plan.doors.values().map(SocketAddr::port).collect(),
        server: nodes.plan.options.binary.path.clone(),
    };
    let path = run_dir.join(FILE);
    // The file is replaced, so that readers find one list or the other and never a part. Nothing in a run directory has to
    // survive a power failure, so there is no wait for the disk.
    let written = NamedTempFile::new_in(run_dir).and_then(|mut file| {
        serde_json::to_writer(&mut file, &card)?;
        Ok(file.persist(&path)?)
    });
    written.map(drop).map_err(LabError::cannot_create(&path))
}

/// A lab that is up.
#[derive(Debug, Clone)]
pub struct Running {
    id: String,
    dir: PathBuf,
    started: SystemTime,
    card: Card,
}

impl Running {
    /// The lab with this id, or by default the one that was started last.
    ///
    /// # Errors
    /// No lab is running, or none with this id; then the error names the ids of those that run.
    pub fn find(id: Option<&str>) -> Result<Self, LabError> {
        let wrong = LabError::Other;
        let mut labs = Self::all().map_err(|error| wrong(error.to_string()))?;
        if labs.is_empty() {
            return Err(wrong(
                "no lab of yours is running: start one with `lockstorm lab up`, or a scenario, for example `lockstorm \
                 single-vs-redlock`; labs of another TMPDIR are not seen"
                    .to_owned(),
            ));
        }
        let Some(id) = id else { return Ok(labs.remove(0)) };
        let ids: Vec<String> = labs.iter().map(|lab| lab.id.clone()).collect();
        labs.into_iter()
            .find(|lab| lab.id == id)
            .ok_or_else(|| wrong(format!("no lab {id} is running: choose from {}", ids.join(", "))))
    }

    /// All labs of this user that are up, newest first.
    ///
    /// # Errors
    /// The directory of all labs can't be used.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut labs = Vec::new();
        let Some(base) = BaseDir::open()? else { return Ok(labs) };
        for entry in base.dir.entries()? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(id) = name.strip_prefix(PREFIX) {
                labs.extend(Self::read(&base, id, &name));
            }
        }
        labs.sort_by_key(|lab| std::cmp::Reverse(lab.started));
        Ok(labs)
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The lab in this directory, if its keeper is alive and all its nodes were started.
    fn read(base: &BaseDir, id: &str, name: &str) -> Option<Self> {
        let dir = base.path.join(name);
        let lock = run_dir::open_lock(&run_dir::open(&base.dir, name).ok()?, &dir).ok()?;
        if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let card = input::open_own(&dir.join(FILE)).and_then(|card| input::whole(&card, LARGEST));
        Some(Self {
            id: id.to_owned(),
            // It is written before anything is started, and never again.
            started: lock.metadata().and_then(|meta| meta.modified()).ok()?,
            card: serde_json::from_slice(&card.ok()?).ok()?,
            dir,
        })
    }

    /// A command line client on a node.
    ///
    /// # Errors
    /// The lab has no such node, or there is no client program.
    pub fn cli(&self, node: NodeName) -> Result<Cli, LabError> {
        let found = self.card.nodes.iter().find(|(name, _)| *name == node);
        let (_, place) = found.ok_or_else(|| {
            let is_lock_node = |(name, _): &&(NodeName, SocketAddr)| name.role == Role::Lock;
            let hosts = self.card.nodes.iter().filter(is_lock_node).count();
            LabError::Other(format!(
                "lab {} has no {node}: it has hosts 1 to {hosts} and cache",
                self.id
            ))
        })?;
        let program = self
            .client()
            .ok_or_else(|| LabError::Other(format!("no redis-cli or valkey-cli found: {}", install::advice())))?;
        let password = password::read(&self.dir).map_err(|error| LabError::Other(error.to_string()))?;
        let address = NodeAddress::new(*place, password.as_deref());
        Ok(Cli {
            node,
            // An address of its own is the container's.
            address: match place.ip().is_loopback() {
                true => address.of_this_user(),
                false => address,
            },
            program,
            run_dir: self.dir.clone(),
        })
    }

    /// The client program: beside the server, otherwise on PATH.
    fn client(&self) -> Option<PathBuf> {
        let beside = self.card.server.parent();
        beside
            .into_iter()
            .flat_map(|dir| CLIENTS.map(|client| dir.join(client)))
            .find(|path| programs::is_program(path))
            .or_else(|| CLIENTS.into_iter().find_map(programs::on_path))
    }
}
