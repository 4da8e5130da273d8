//! The doors of the proxy, and its thread.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::door::{self, Behind, Door};
use super::network::{Hindrance, Network, OneWay};
use crate::error::LabError;
use crate::server::node_name::NodeName;
use crate::server::ports;
use lockstorm_base::timer::Timer;
use lockstorm_data::model::{Condition, Fault, Target};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{oneshot, watch};

/// Doors that are closed as yet. They exist before their nodes, which must say where others find them.
#[derive(Debug, Default)]
pub(crate) struct Doors(BTreeMap<NodeName, (SocketAddr, TcpSocket)>);

impl Doors {
    /// Makes a door for each of these nodes.
    pub(crate) fn of(names: &[NodeName]) -> Result<Self, LabError> {
        // A port that is closed for a while must not be one that the system gives to somebody who connects to it.
        let places = ports::find(names.len())?.into_iter().map(ports::loopback);
        let closed = |(name, place)| Ok((name, (place, door::closed(place)?)));
        let doors = names.iter().copied().zip(places).map(closed);
        Ok(Self(doors.collect::<io::Result<_>>().map_err(LabError::Proxy)?))
    }

    /// Where each of these nodes will be reached.
    pub(crate) fn places(&self) -> BTreeMap<NodeName, SocketAddr> {
        self.0.iter().map(|(name, (place, _))| (*name, *place)).collect()
    }
}

/// A proxy with a door for each node. Dropping it closes all doors, and the connections through them.
#[derive(Debug)]
pub(crate) struct Proxy {
    doors: BTreeMap<NodeName, (SocketAddr, Arc<AtomicU64>)>,
    network: watch::Sender<Network>,
    /// Its thread ends when this is dropped.
    _open: oneshot::Sender<()>,
}

impl Proxy {
    /// Opens these doors to the nodes behind them; a door without one stays closed.
    pub(crate) async fn start(doors: Doors, behind: impl Iterator<Item = Behind>) -> io::Result<Self> {
        let network = watch::Sender::new(Network::default());
        let mut sockets = doors.0;
        let with_socket = |behind: Behind| {
            let (place, socket) = sockets.remove(&behind.name)?;
            let door = Door {
                place,
                behind,
                network: network.subscribe(),
                carried: Arc::default(),
                lanes: Default::default(),
            };
            Some((door, socket))
        };
        let doors: Vec<(Door, TcpSocket)> = behind.filter_map(with_socket).collect();
        let known = |(door, _): &(Door, TcpSocket)| (door.behind.name, (door.place, Arc::clone(&door.carried)));
        let known = doors.iter().map(known).collect();
        let (keep_open, closed) = oneshot::channel();
        let (report, started) = oneshot::channel();
        std::thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(move || serve(doors, report, closed))?;
        started
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            doors: known,
            network,
            _open: keep_open,
        })
    }

    /// Where others reach this node.
    pub(crate) fn door(&self, node: NodeName) -> Option<SocketAddr> {
        self.doors.get(&node).map(|(place, _)| *place)
    }

    /// The bytes that clients have sent to this node and received from it through its door.
    pub(crate) fn carried(&self, node: NodeName) -> Option<u64> {
        Some(self.doors.get(&node)?.1.load(Ordering::Relaxed))
    }

    /// The node behind the door on this port.
    pub(crate) fn behind(&self, port: u16) -> Option<NodeName> {
        let mut doors = self.doors.iter();
        doors.find_map(|(name, (place, _))| (place.port() == port).then_some(*name))
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

/// Serves these doors until `closed`. Reports that they are open, or why they can't be.
fn serve(doors: Vec<(Door, TcpSocket)>, report: oneshot::Sender<io::Result<()>>, closed: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(report.send(Err(error))),
    };
    runtime.block_on(async {
        let open = |(door, socket): (Door, TcpSocket)| Ok((door, door::open(socket)?));
        let doors: Vec<(Door, TcpListener)> = match doors.into_iter().map(open).collect() {
            Ok(doors) => doors,
            Err(error) => return drop(report.send(Err(error))),
        };
        let timer = Timer::start();
        for (door, listener) in doors {
            tokio::spawn(door.serve(listener, timer.clone()));
        }
        let _ = report.send(Ok(()));
        // The sender is only ever dropped.
        let _ = closed.await;
    });
}
