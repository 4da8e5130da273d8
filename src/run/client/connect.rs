//! The start of a client: its process, its greeting, its clock; and what is told when it ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::time::{sleep, timeout};

use super::complaints::{Complaints, Whose};
use super::link::{End, Link};
use super::lock::{Absent, ClientLock};
use super::message::{Can, Hello, Start, VERSION};
use crate::under_test::{Lock, OtherLocks, Reply, Site};
use lockstorm_data::facts::ClientFault;
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::{ArmSpec, LockNodes};
use lockstorm_lab::{Guest, Lab, LabError, MASTER_NAME, NodeName, Role, secret_url};

/// How long a client may take to start: an interpreter loads its libraries.
const START_LIMIT: Duration = Duration::from_secs(15);
/// How long the keeper may take to report that a process has ended whose connection has.
const DEATH_REPORT: Duration = Duration::from_secs(1);

/// The clients of an arm.
#[derive(Debug)]
pub struct Clients {
    lab: Arc<Lab>,
    arm: Arc<ArmSpec>,
    /// The arm's position, and how many workers each app server has for it.
    index: usize,
    workers: usize,
    complaints: Arc<Complaints>,
    /// How many there have been.
    started: AtomicUsize,
    /// Whether one did not greet: then no other is waited for.
    is_mute: AtomicBool,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum NoClient {
    /// There is no socket for it.
    #[error("no socket for it at {}: {error}", .path.display())]
    NoSocket {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Its program can't be started.
    #[error(transparent)]
    NotStarted(#[from] LabError),
    /// Its locks are on another number of nodes than the arm's.
    #[error(
        "{client} uses {used} of the {given} nodes that it is given: set hosts = {used} for this arm (--set arm.{arm}.hosts={used})"
    )]
    OtherNodes {
        /// What its library is called.
        client: String,
        /// On how many nodes its locks are.
        used: usize,
        /// How many it is given.
        given: usize,
        /// The name of the arm.
        arm: String,
    },
    /// The arm's locks are renewed, and it can't.
    #[error(
        "{client} can neither \"extend\" nor \"renew\": set renew = \"off\" for this arm (--set arm.{arm}.renew=off)"
    )]
    NotRenewing {
        /// What its library is called.
        client: String,
        /// The name of the arm.
        arm: String,
    },
    /// It did not greet as it should.
    #[error("{0}")]
    Mute(String),
}

/// A client that runs.
#[derive(Debug, Clone)]
pub struct Program {
    /// How it is talked with.
    pub link: Link,
    /// What it says of itself.
    pub hello: Hello,
    /// Its process.
    pub guest: Guest,
}

impl Clients {
    /// The clients of the arm at this position.
    pub fn new(lab: Arc<Lab>, arm: Arc<ArmSpec>, index: usize, workers: usize, complaints: Arc<Complaints>) -> Self {
        Self {
            lab,
            arm,
            index,
            workers,
            complaints,
            started: AtomicUsize::new(0),
            is_mute: AtomicBool::new(false),
        }
    }

    async fn connect_on(&self, server: ServerId) -> Result<Lock, NoClient> {
        if self.is_mute.load(Ordering::Relaxed) {
            return Ok(Lock::Other(Arc::new(Absent)));
        }
        let start = first_order(&self.lab, &self.arm, self.workers, Some(server));
        let given = start.nodes.len();
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let socket = self.lab.dir().join(format!("client-{}-{number}.sock", self.index));
        let whose = Whose {
            arm: self.arm.name.clone(),
            server,
        };
        let complaints = Arc::clone(&self.complaints);
        let began = begin(
            &self.lab,
            server,
            &self.arm.command,
            socket,
            whose.clone(),
            start,
            complaints,
        )
        .await;
        let program = match began {
            Ok(program) => program,
            Err(NoClient::Mute(why)) => {
                self.is_mute.store(true, Ordering::Relaxed);
                self.complaints.add(whose, ClientFault::Failed { quoted: why });
                return Ok(Lock::Other(Arc::new(Absent)));
            }
            Err(error) => return Err(error),
        };
        let Program { link, hello, .. } = program.clone();
        self.complaints
            .introduce(format!("{} {}", hello.name, hello.version).trim().to_owned());
        if let Some(used) = hello.nodes.filter(|used| self.arm.lock_is_on_hosts() && *used != given) {
            return Err(NoClient::OtherNodes {
                client: hello.name,
                used,
                given,
                arm: self.arm.name.clone(),
            });
        }
        if self.arm.renew.interval(self.arm.ttl).is_some()
            && !hello.can.iter().any(|can| matches!(can, Can::Extend | Can::Renew))
        {
            return Err(NoClient::NotRenewing {
                client: hello.name,
                arm: self.arm.name.clone(),
            });
        }
        tokio::spawn(watch(Arc::clone(&self.lab), program));
        let nodes = if self.arm.lock_is_on_hosts() { given } else { 1 };
        let is_mute = AtomicBool::new(false);
        Ok(Lock::Other(Arc::new(ClientLock {
            link,
            nodes,
            ttl: self.arm.ttl,
            is_renewed: self.arm.renew.interval(self.arm.ttl).is_some() && hello.can.contains(&Can::Renew),
            hello,
            is_mute,
        })))
    }
}

impl OtherLocks for Clients {
    fn connect(&self, site: Site) -> Reply<'_, Result<Lock, String>> {
        Box::pin(async move { self.connect_on(site.server).await.map_err(|error| error.to_string()) })
    }
}

/// What the client of an arm is told at first, on an app server if it is on one.
pub fn first_order(lab: &Lab, arm: &ArmSpec, workers: usize, server: Option<ServerId>) -> Start {
    let hosts = arm.hosts.unwrap_or(usize::MAX);
    let urls = |addresses: &[lockstorm_lock::NodeAddress]| addresses.iter().map(secret_url).collect();
    let mut start = Start {
        v: VERSION,
        nodes: Vec::new(),
        sentinels: Vec::new(),
        master: None,
        cluster: Vec::new(),
        ttl_ms: u64::try_from(arm.ttl.as_millis()).unwrap_or(u64::MAX),
        renew: arm.renew.interval(arm.ttl).is_some(),
        workers,
    };
    match arm.nodes() {
        LockNodes::Cluster | LockNodes::ClusterMasters => {
            start.cluster = urls(&lab.cluster_nodes().unwrap_or_default().concat());
        }
        LockNodes::Master | LockNodes::FirstMaster => {
            if let Some((sentinels, master)) = lab.replicated_nodes() {
                start.nodes = urls(&[master]);
                if arm.nodes() == LockNodes::Master {
                    (start.sentinels, start.master) = (urls(&sentinels), Some(MASTER_NAME));
                }
            }
        }
        LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => {
            let nodes = lab.lock_nodes_from(server).into_iter().take(hosts);
            start.nodes = urls(&nodes.map(|(_, address)| address).collect::<Vec<_>>());
        }
    }
    start
}

/// The servers that the locks of the arm's client can be on.
pub fn servers(lab: &Lab, arm: &ArmSpec) -> Vec<SocketAddr> {
    let is_used = |name: &NodeName| match arm.nodes() {
        LockNodes::Master | LockNodes::FirstMaster => name.role == Role::Replicated,
        LockNodes::Cluster | LockNodes::ClusterMasters => name.role.is_in_cluster(),
        LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => {
            let hosts = arm.hosts.unwrap_or(usize::MAX);
            name.role == Role::Lock && name.host.is_some_and(|host| host.index() < hosts)
        }
    };
    lab.names().filter(is_used).flat_map(|name| lab.servers(name)).collect()
}

/// Starts a client at `socket` and waits until it has started; `whose` it is stands in complaints.
///
/// # Errors
/// Why it has not.
pub async fn begin(
    lab: &Lab,
    server: ServerId,
    command: &[String],
    socket: PathBuf,
    whose: Whose,
    start: Start,
    complaints: Arc<Complaints>,
) -> Result<Program, NoClient> {
    let no_socket = |error| NoClient::NoSocket {
        path: socket.clone(),
        error,
    };
    let listener = UnixListener::bind(&socket).map_err(no_socket)?;
    let link = Link::listen(listener, whose, start, complaints);
    let guest = lab.start_guest(server, command, socket).await?;
    let noise = || {
        link.noise()
            .map_or_else(String::new, |said| format!("; it has said {said}"))
    };
    let hello = tokio::select! {
        biased;
        hello = link.hello() => hello,
        why = over(lab, &guest, &link, 0) => {
            let how = ending(lab, &guest, &why.1).await;
            return Err(NoClient::Mute(format!("{}{}", link.hidden(&how), noise())));
        }
        () = sleep(START_LIMIT) => {
            return Err(NoClient::Mute(format!(
                "has not said {{\"op\":\"started\",…}}, or not answered {{\"op\":\"clock\",…}}, within {START_LIMIT:?}{}{}",
                noise(),
                link.hidden(&lab.guest_log(&guest))
            )));
        }
    };
    if let Some(noise) = link.noise() {
        link.complain(&format!("said {noise} before it had started"));
    }
    Ok(Program { link, hello, guest })
}

/// Waits until more than `so_many` connections have ended, or the process has: what it has started may keep its end open. Returns how many
/// have, and why.
async fn over(lab: &Lab, guest: &Guest, link: &Link, so_many: u64) -> (u64, End) {
    let death = async {
        loop {
            sleep(DEATH_REPORT / 4).await;
            if lab.guest_death(guest).is_some() {
                return;
            }
        }
    };
    tokio::select! {
        ended = link.ended(so_many) => ended,
        () = death => {
            link.close();
            (so_many + 1, End::Exited)
        }
    }
}

/// How a client ended whose connection has: that of its process, if the keeper tells it soon.
async fn ending(lab: &Lab, guest: &Guest, why: &End) -> String {
    let told = async {
        while lab.guest_pid(guest).is_some() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = timeout(DEATH_REPORT, told).await;
    match lab.guest_death(guest) {
        Some(death) => format!("has ended ({death})"),
        None => format!("{why}{}", lab.guest_log(guest)),
    }
}

/// Complains of each end of the client that nobody has ordered.
async fn watch(lab: Arc<Lab>, program: Program) {
    let (mut ended, Program { link, guest, .. }) = (0, program);
    loop {
        let (number, why) = over(&lab, &guest, &link, ended).await;
        ended = number;
        let how = ending(&lab, &guest, &why).await;
        let is_dead = lab.guest_death(&guest).is_some();
        // A kill ends one connection at most, and the client may run again before that is seen.
        if number <= lab.guest_kills(&guest) && !is_dead {
            continue;
        }
        link.complain(&how);
        if is_dead {
            return;
        }
    }
}
