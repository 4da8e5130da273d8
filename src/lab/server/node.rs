//! One server: its start, its checks, its restart; or a server that is not ours, which is only watched.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::directory::password::{Password, create_file};
use crate::directory::processes;
use crate::error::LabError;
use crate::options::LabOptions;
use crate::preload::control::Control;
use crate::protocol::{Ground, Start, Watch};
use crate::server::changed::Changed;
use crate::server::config_file;
use crate::server::node_name::{NodeName, Role};
use crate::server::ports::{self, NodePorts};
use crate::server::probe;
use crate::server::settings::{self, NodeSettings};
use crate::server::stats::Admin;
use crate::server::version::Flavour;
use crate::topology::etcd::Etcd;
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::{LabSpec, NodeUrl, Persistence};
use lockstorm_lock::NodeAddress;

/// How many other ports are tried if somebody else takes one first.
const PORT_TRIES: usize = 10;
/// How long a restart waits for somebody else to free a port at which the node must stay.
const PORT_RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a restart waits for somebody else to free its port if the node may take another one.
const PORT_PATIENCE: Duration = Duration::from_secs(1);
/// The pause before a port is tried again.
const PORT_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for another process that answers in place of the one that was started.
const SUBSTITUTE_TIMEOUT: Duration = Duration::from_secs(2);
/// How many lines of a log are shown.
const LOG_LINES: usize = 5;
/// How many bytes at the end of a log are searched for them.
const LOG_END: u64 = 8 * 1024;

/// A node of the lab.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its number in messages to the keeper.
    pub id: usize,
    pub name: NodeName,
    /// Whether it is a process of ours.
    pub is_ours: bool,
    /// Its TLS port, if it has one.
    pub tls_port: Option<u16>,
    /// The port at which the other nodes of the cluster talk to it, if it is in one.
    pub bus_port: Option<u16>,
    pub admin: Mutex<Admin>,
    /// What steers our library in it, if it has that.
    pub control: Option<Control>,
    /// What faults have changed in its settings.
    pub changed: Changed,
    /// Where it is, with the lab's password. Whatever depends on its port is made from this.
    access: watch::Sender<NodeAddress>,
    plan: Arc<Plan>,
    dir: PathBuf,
}

/// What all nodes of a lab have in common.
#[derive(Debug)]
pub(crate) struct Plan {
    pub spec: LabSpec,
    pub options: LabOptions,
    /// `None`: the nodes require no password.
    pub password: Option<Password>,
    /// The etcd of the lab, if it has one.
    pub etcd: Option<Etcd>,
    pub ground: Ground,
    /// Our library that servers are started with, if they are.
    pub preload: Option<PathBuf>,
    /// Where nodes are reached that are behind a door of the proxy.
    pub doors: BTreeMap<NodeName, SocketAddr>,
    /// What all keys begin with on nodes that are not ours.
    pub key_prefix: String,
}

impl Plan {
    /// The URL of a node that is not ours.
    pub(crate) fn given(&self, name: NodeName) -> Option<&NodeUrl> {
        let host = name.host.filter(|_| name.role == Role::Lock)?;
        self.spec.nodes.as_ref()?.urls.get(host.index())
    }

    /// Whether a node must come back at the port at which it was started.
    fn port_stays(&self, role: Role) -> bool {
        self.spec.port.is_some() || self.options.ports_stay || role.is_known_by_port()
    }

    /// The address of a node on this port, with the lab's password.
    fn access(&self, place: SocketAddr) -> NodeAddress {
        let access = NodeAddress::new(place, self.password.as_ref().map(Password::text));
        // On loopback any user of this machine may listen; an address of its own is the container's.
        if self.ground.is_loopback() {
            access.of_this_user()
        } else {
            access
        }
    }
}

impl Node {
    /// Creates the node's directory and starts it on these ports; if one is taken and they are not fixed, on others.
    pub(crate) async fn start(
        client: &Client,
        plan: &Arc<Plan>,
        id: usize,
        name: NodeName,
        mut ports: NodePorts,
    ) -> Result<Self, LabError> {
        let dir = plan.ground.dir.join(name.directory());
        fs::create_dir(&dir).map_err(LabError::cannot_create(&dir))?;
        if let Some(text) = config_file::first_text(name.role, plan.password.as_ref(), plan.doors.get(&name).copied()) {
            create_file(&dir.join(config_file::NAME), &text)?;
        }
        let control = plan
            .preload
            .as_ref()
            // Programs in Go ask the kernel past it.
            .filter(|_| name.role != Role::Etcd)
            .map(|library| Control::create(library, dir.join("preload")))
            .transpose()?;
        // The members of etcd have been told each other's ports.
        let stays = plan.spec.port.is_some() || name.role == Role::Etcd;
        let mut others = if stays { 0 } else { PORT_TRIES };
        loop {
            let access = plan.access((plan.ground.ip(id), ports.port).into());
            let speaks_tls = plan.options.tls.is_some() && name.role == Role::Lock;
            let node = Self {
                is_ours: true,
                tls_port: speaks_tls.then(|| ports::find(1)).transpose()?.map(|found| found[0]),
                bus_port: ports.bus,
                dir: dir.clone(),
                control: control.clone(),
                ..Self::at(plan, id, name, access)
            };
            match node.run(client).await {
                Err(LabError::PortTaken { .. }) if others > 0 => {
                    others -= 1;
                    ports = ports.others()?;
                }
                started => {
                    started?;
                    node.check_library().await?;
                    return Ok(node);
                }
            }
        }
    }

    /// A node that is not ours.
    fn at(plan: &Arc<Plan>, id: usize, name: NodeName, access: NodeAddress) -> Self {
        Self {
            id,
            name,
            is_ours: false,
            tls_port: None,
            bus_port: None,
            admin: Mutex::default(),
            control: None,
            changed: Changed::default(),
            access: watch::Sender::new(access),
            plan: Arc::clone(plan),
            dir: PathBuf::new(),
        }
    }

    /// Watches a server that is not ours from now on, once it answers.
    pub(crate) async fn watch(
        client: &Client,
        plan: &Arc<Plan>,
        id: usize,
        name: NodeName,
        url: &NodeUrl,
    ) -> Result<Self, LabError> {
        let not_reached = |why: String| LabError::Other(format!("{name} ({url}) can't be reached: {why}"));
        let address = NodeAddress::parse(url.reveal()).map_err(|error| not_reached(error.why))?;
        let watch = Watch {
            id,
            url: url.reveal().to_owned(),
            prefix: plan.key_prefix.clone(),
        };
        client.watch(watch).await?.map_err(not_reached)?;
        Ok(Self::at(plan, id, name, address))
    }

    /// Where the node, which is ours, is now.
    pub(crate) fn address(&self) -> SocketAddr {
        let access = self.access.borrow();
        // It was made from an address.
        let ip = access.host().parse().unwrap_or(Ipv4Addr::LOCALHOST);
        (ip, access.port()).into()
    }

    /// Whether it is in a container.
    pub(crate) fn is_container(&self) -> bool {
        self.plan.options.binary.containers.is_some()
    }

    /// Where the node is now, with the lab's password.
    pub(crate) fn access(&self) -> NodeAddress {
        self.access.borrow().clone()
    }

    /// Where the node is now and where it will be, with the lab's password.
    pub(crate) fn follow(&self) -> watch::Receiver<NodeAddress> {
        self.access.subscribe()
    }

    /// The settings that it is given on the command line.
    fn given(&self) -> Vec<(&'static str, Vec<String>)> {
        let (plan, role) = (&self.plan, self.name.role);
        let mut given = settings::of(role, plan.spec.persistence, self.address(), &self.dir);
        if let (Role::Replicated, Some(spec)) = (role, &plan.spec.replicated) {
            given.extend(settings::of_replicated(spec, self.name.host));
        }
        if let (Some(bus), Some(spec)) = (self.bus_port, &plan.spec.cluster) {
            given.extend(settings::of_cluster(spec, self.address().ip(), bus));
        }
        if let Some(door) = plan.doors.get(&self.name) {
            given.extend(settings::of_door(self.name, *door));
        }
        if let (Some(port), Some(files)) = (self.tls_port, &plan.options.tls) {
            given.extend(settings::of_tls(files, port));
        }
        if plan.preload.is_some() && plan.options.binary.flavour == Flavour::Redis {
            // With a clock that was set back its allocator's thread would wait for a time that is past, over and over.
            given.push(("jemalloc-bg-thread", vec!["no".to_owned()]));
        }
        if plan.options.binary.is_found() {
            given.retain(|(name, _)| settings::can_change(name));
        }
        given
    }

    /// How it is started now, for the record.
    pub(crate) fn settings(&self) -> NodeSettings {
        if !self.is_ours {
            return NodeSettings {
                name: self.name,
                address: self.access().to_string(),
                server: "not ours".to_owned(),
                settings: BTreeMap::new(),
            };
        }
        if let Some((etcd, host)) = self.member() {
            let settings = etcd.settings(host, &self.dir).into_iter();
            return NodeSettings {
                name: self.name,
                address: self.address().to_string(),
                server: etcd.program.name(),
                settings: settings.map(|(name, value)| (name.to_owned(), value)).collect(),
            };
        }
        let said = self.plan.password.as_ref();
        let said = said.map(|_| ("requirepass".to_owned(), "random".to_owned()));
        let given = self.given().into_iter();
        NodeSettings {
            name: self.name,
            address: self.address().to_string(),
            server: self.plan.options.binary.to_string(),
            settings: given
                .map(|(name, values)| (name.to_owned(), values.join(" ")))
                .chain(said)
                .collect(),
        }
    }

    /// Where its files are.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it saves snapshots by itself.
    pub(crate) fn saves(&self) -> bool {
        self.plan.spec.persistence == Persistence::Rdb
    }

    /// What its process has written.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// Its configuration file, if it has one: a file of its own if it writes there what it is told later, otherwise that of
    /// all nodes.
    fn file(&self) -> Option<PathBuf> {
        if config_file::is_for(self.name.role) {
            return Some(self.dir.join(config_file::NAME));
        }
        self.plan.password.as_ref().map(|password| password.file.clone())
    }

    /// The etcd that it is the member of a host of, if it is one.
    pub(crate) fn member(&self) -> Option<(&Etcd, HostId)> {
        let host = self.name.host.filter(|_| self.name.role == Role::Etcd)?;
        Some((self.plan.etcd.as_ref()?, host))
    }

    fn start_request(&self) -> Start {
        if let Some((etcd, host)) = self.member() {
            let settings = etcd.settings(host, &self.dir).into_iter();
            return Start {
                id: self.id,
                program: etcd.program.path.clone(),
                args: settings.map(|(name, value)| format!("--{name}={value}")).collect(),
                dir: self.dir.clone(),
                log: self.log(),
                talk: None,
                control: None,
            };
        }
        // A server takes the name of a file only as its first argument.
        let file = self.file().map(|file| file.to_string_lossy().into_owned());
        let mode = (self.name.role == Role::Sentinel).then(|| "--sentinel".to_owned());
        Start {
            id: self.id,
            program: self.plan.options.binary.path.clone(),
            args: file
                .into_iter()
                .chain(mode)
                .chain(settings::arguments(&self.given()))
                .collect(),
            dir: self.dir.clone(),
            log: self.log(),
            talk: None,
            control: self.control.clone().map(Box::new),
        }
    }

    /// Checks that its process has our library, if it should: a program that is linked statically does not load it.
    async fn check_library(&self) -> Result<(), LabError> {
        let Some(control) = &self.control else { return Ok(()) };
        let asked = (self.name.role != Role::Sentinel).then(|| self.access());
        control.check(asked.as_ref()).await.map_err(|why| {
            LabError::Other(format!(
                "faults of clocks and power are not possible with {}: {} {why}",
                self.plan.options.binary, self.name
            ))
        })
    }

    /// Cuts its files to what was synced, as a loss of power may do. Its process has ended.
    pub(crate) fn lose_unsynced(&self) -> io::Result<u64> {
        self.control
            .as_ref()
            .map_or(Ok(0), |control| control.lose_unsynced(&self.dir))
    }

    /// Starts the node again in its directory and on its port; if somebody else has taken that and does not free it soon, on
    /// another one, unless it must stay. Returns when it answers.
    pub(crate) async fn restart(&self, client: &Client) -> Result<(), LabError> {
        let (patience, mut others) = match self.plan.port_stays(self.name.role) {
            true => (PORT_RELEASE_TIMEOUT, 0),
            false => (PORT_PATIENCE, PORT_TRIES),
        };
        let end = Instant::now() + patience;
        loop {
            match self.run(client).await {
                Err(LabError::PortTaken { .. }) if Instant::now() < end => sleep(PORT_PAUSE).await,
                Err(LabError::PortTaken { .. }) if others > 0 => {
                    others -= 1;
                    let place = SocketAddr::new(self.address().ip(), ports::find(1)?[0]);
                    self.access.send_replace(self.plan.access(place));
                }
                ended => return ended,
            }
        }
    }

    /// Takes the address that the keeper has told, if it has.
    pub(crate) fn look_where(&self, client: &Client) {
        if let Some(place) = client.slot(self.id).at {
            self.access.send_replace(self.plan.access(place));
        }
    }

    /// Starts the process and waits until it, and no other process, answers PING with its data loaded.
    async fn run(&self, client: &Client) -> Result<(), LabError> {
        // The log of an earlier start says nothing about this one.
        let from = fs::metadata(self.log()).map_or(0, |log| log.len());
        let pid = match client.start_server(self.start_request()).await? {
            Ok(pid) => pid,
            Err(why) => return Err(self.died(&why, from).await),
        };
        self.look_where(client);
        let access = self.access();
        let ended = client.wait_slot(self.id, self.plan.options.start_timeout, |slot| slot.state.ended());
        let answered = async {
            match self.member() {
                // Without the others it says nothing.
                Some(_) => {
                    let accepts = timeout(self.plan.options.start_timeout, probe::accepts(self.address()));
                    accepts.await.map_err(|_| "it accepts no connection".to_owned())
                }
                None => probe::answers(&access, pid, self.plan.options.start_timeout).await,
            }
        };
        tokio::select! {
            answer = answered => answer.map_err(|why| LabError::NotAnswering {
                node: self.name,
                address: self.address(),
                waited: self.plan.options.start_timeout,
                why,
                log: self.last_words(from),
            }),
            Ok(Some(why)) = ended => Err(self.died(&why, from).await),
        }
    }

    /// Why it has ended: another process has its port, or something else.
    async fn died(&self, why: &str, from: u64) -> LabError {
        let (node, port, log) = (self.name, self.address().port(), self.last_words(from));
        let cure = match self.substitute().await {
            Some(other) => &format!(
                ", and process {other} answers in its place: the program must become the server, by exec, and must not start it by \
                 setsid or in the background"
            ),
            // The server's message is the sure sign; checking the port does not depend on its language.
            None if log.contains("Address already in use")
                || (self.plan.ground.is_loopback() && ports::check(port).is_err()) =>
            {
                let why = "is taken".to_owned();
                return LabError::PortTaken { port, why, node };
            }
            None if node.role == Role::Sentinel => {
                "; a program without Sentinel mode can't be one: name another program with --server-bin"
            }
            None => "",
        };
        let why = format!("{why}{cure}");
        LabError::StartFailed { node, why, log }
    }

    /// The process that answers at the node's address and works in its directory, but is not the one that was started: a
    /// child of it (Linux).
    async fn substitute(&self) -> Option<u32> {
        let end = Instant::now() + SUBSTITUTE_TIMEOUT;
        while Instant::now() < end && processes::is_inhabited(&self.dir) {
            if let Some(pid) = probe::who(&self.access()).await {
                let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
                return (cwd == self.dir).then_some(pid);
            }
            sleep(Duration::from_millis(20)).await;
        }
        None
    }

    /// The last lines of the node's log after byte `from`, each after a line break; for error messages.
    fn last_words(&self, from: u64) -> String {
        let last = last_lines(&self.log(), from);
        if last.is_empty() {
            " none".to_owned()
        } else {
            last.iter().map(|line| format!("\n  {line}")).collect()
        }
    }
}

/// The last lines of a log after byte `from`; none if it can't be read.
pub fn last_lines(log: &Path, from: u64) -> Vec<String> {
    let end = end_of(log, from).unwrap_or_default();
    let mut lines: Vec<String> = String::from_utf8_lossy(&end)
        .lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).take(200).collect::<String>())
        // The frames of a stack in JavaScript and Java come after what happened, and say less.
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("at "))
        .collect();
    lines.split_off(lines.len().saturating_sub(LOG_LINES))
}

fn end_of(log: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_END).max(from)))?;
    let mut end = Vec::new();
    file.take(LOG_END).read_to_end(&mut end)?;
    Ok(end)
}
