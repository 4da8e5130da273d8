//! The doors of the proxy, and its thread.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};

use super::door::Door;
use super::network::{Hindrance, Network, OneWay};
use crate::server::node_name::NodeName;
use crate::server::ports;
use lockstorm_base::timer::Timer;
use lockstorm_data::model::{Condition, Fault, Target};
use lockstorm_lock::NodeAddress;
use tokio::sync::{oneshot, watch};

/// Doors that are open, but not served yet. They exist before their nodes, which must say where others find them.
#[derive(Debug, Default)]
pub(crate) struct Doors(Vec<(NodeName, TcpListener)>);

impl Doors {
    /// Opens a door for each of these nodes.
    pub(crate) fn open(names: impl Iterator<Item = NodeName>) -> io::Result<Self> {
        let open = |name| {
            // Nobody else needs to know the port beforehand.
            let listener = TcpListener::bind(ports::loopback(0))?;
            listener.set_nonblocking(true)?;
            Ok((name, listener))
        };
        Ok(Self(names.map(open).collect::<io::Result<_>>()?))
    }

    /// Where each of these nodes will be reached.
    pub(crate) fn places(&self) -> io::Result<BTreeMap<NodeName, SocketAddr>> {
        let place = |(name, listener): &(NodeName, TcpListener)| Ok((*name, listener.local_addr()?));
        self.0.iter().map(place).collect()
    }
}

/// A proxy with a door for each node. Dropping it closes all doors, and the connections through them.
#[derive(Debug)]
pub(crate) struct Proxy {
    doors: BTreeMap<NodeName, SocketAddr>,
    network: watch::Sender<Network>,
    /// Its thread ends when this is dropped.
    _open: oneshot::Sender<()>,
}

impl Proxy {
    /// Serves these doors. `node` tells where a node is, now and later; a door without one is closed.
    pub(crate) async fn start(
        doors: Doors,
        node: impl Fn(NodeName) -> Option<watch::Receiver<NodeAddress>>,
    ) -> io::Result<Self> {
        let (places, network) = (doors.places()?, watch::Sender::new(Network::default()));
        let open = doors
            .0
            .into_iter()
            .filter_map(|(name, listener)| Some((name, listener, node(name)?)));
        let (open, faults) = (open.collect(), network.subscribe());
        let (keep_open, closed) = oneshot::channel();
        let (report, started) = oneshot::channel();
        std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || serve(open, &faults, report, closed))?;
        started
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            doors: places,
            network,
            _open: keep_open,
        })
    }

    /// Where others reach this node.
    pub(crate) fn door(&self, node: NodeName) -> Option<SocketAddr> {
        self.doors.get(&node).copied()
    }

    /// The node behind the door on this port.
    pub(crate) fn behind(&self, port: u16) -> Option<NodeName> {
        let mut doors = self.doors.iter();
        doors.find_map(|(name, place)| (place.port() == port).then_some(*name))
    }

    /// Lets a fault act on the network. Bytes that are under way follow the new state.
    pub(crate) fn enter(&self, target: Target, fault: Fault) {
        self.network.send_modify(|network| network.enter(target, fault));
    }

    /// Ends the fault that brought a condition.
    pub(crate) fn leave(&self, target: Target, condition: Condition) {
        self.network.send_modify(|network| network.leave(target, condition));
    }

    /// What happens now on a path.
    pub(crate) fn state(&self, path: &OneWay) -> Hindrance {
        self.network.borrow().state(path)
    }
}

/// A door that is not served yet.
type Opened = (NodeName, TcpListener, watch::Receiver<NodeAddress>);

/// Serves these doors until `closed`. Reports that it has begun, or why it can't.
fn serve(
    open: Vec<Opened>,
    network: &watch::Receiver<Network>,
    report: oneshot::Sender<io::Result<()>>,
    closed: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(report.send(Err(error))),
    };
    runtime.block_on(async {
        let doors = open.into_iter().map(|(name, listener, node)| {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let network = network.clone();
            Ok(Door {
                listener,
                name,
                node,
                network,
            })
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
