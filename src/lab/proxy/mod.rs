//! A TCP proxy in front of nodes, in labs whose scenario breaks the network. What is done to the network is done here.
//!
//! It has a thread of its own, and adds some 0.05 ms to a round trip: a lab has one only if a fault needs it.

mod door;
mod line;
mod pump;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use self::door::Door;
pub(super) use self::line::Line;
use super::node_name::NodeName;
use super::ports;
use crate::lock::NodeAddress;
use crate::model::HostId;
use crate::timer::Timer;

/// A proxy with a door for each node. Dropping it closes all doors, and the connections through them.
#[derive(Debug)]
pub(super) struct Proxy {
    doors: BTreeMap<NodeName, SocketAddr>,
    lines: BTreeMap<HostId, watch::Sender<Line>>,
    /// Its thread ends when this is dropped.
    _open: oneshot::Sender<()>,
}

impl Proxy {
    /// Opens a door for each of these nodes that is on a host. Returns once all doors are open.
    pub(super) async fn start(nodes: Vec<(NodeName, watch::Receiver<NodeAddress>)>) -> io::Result<Self> {
        let (mut lines, mut doors, mut open) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (name, node) in nodes {
            let Some(host) = name.host else { continue };
            let line: &watch::Sender<Line> = lines.entry(host).or_default();
            // Nobody needs to know the port beforehand.
            let listener = std::net::TcpListener::bind(ports::loopback(0))?;
            listener.set_nonblocking(true)?;
            doors.insert(name, listener.local_addr()?);
            open.push((listener, node, line.subscribe()));
        }
        let (keep_open, closed) = oneshot::channel();
        let (report, started) = oneshot::channel();
        std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || serve(open, report, closed))?;
        started
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            doors,
            lines,
            _open: keep_open,
        })
    }

    /// Where others reach this node.
    pub(super) fn door(&self, node: NodeName) -> Option<SocketAddr> {
        self.doors.get(&node).copied()
    }

    /// Changes the line to a host. Bytes that are under way follow the new state.
    pub(super) fn set(&self, host: HostId, line: Line) {
        if let Some(sender) = self.lines.get(&host) {
            sender.send_replace(line);
        }
    }
}

/// A door that is not served yet.
type Opened = (
    std::net::TcpListener,
    watch::Receiver<NodeAddress>,
    watch::Receiver<Line>,
);

/// Serves these doors until `closed`. Reports that it has begun, or why it can't.
fn serve(open: Vec<Opened>, report: oneshot::Sender<io::Result<()>>, closed: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(report.send(Err(error))),
    };
    runtime.block_on(async {
        let doors = open.into_iter().map(|(listener, node, line)| {
            let listener = TcpListener::from_std(listener)?;
            Ok(Door { listener, node, line })
        });
        let doors: Vec<Door> = match doors.collect() {
            Ok(doors) => doors,
            Err(error) => return drop(report.send(Err(error))),
        };
        let timer = Timer::start();
        for door in doors {
            tokio::spawn(door.serve(timer.clone()));
        }
        let _ = report.send(Ok(()));
        // The sender is only ever dropped.
        let _ = closed.await;
    });
}
