//! The doors of the proxy, and its thread.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::door::{self, Behind, Door};
use super::line::Lane;
use super::network::{Hindrance, Network, OneWay};
use crate::error::LabError;
use crate::server::node_name::NodeName;
use crate::server::ports;
use lockstorm_base::timer::Timer;
use lockstorm_data::model::{Condition, Fault, ServerId, Target};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{oneshot, watch};

/// Names a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DoorName {
    /// The node that it leads to.
    pub node: NodeName,
    /// The app server that alone uses it; `None`: all others do.
    pub of: Option<ServerId>,
}

/// Doors that are closed as yet. They exist before their nodes, which must say where others find them.
#[derive(Debug, Default)]
pub(crate) struct Doors(BTreeMap<DoorName, (SocketAddr, TcpSocket)>);

impl Doors {
    /// Makes the doors of these names.
    pub(crate) fn of(names: &[DoorName]) -> Result<Self, LabError> {
        // A port that is closed for a while must not be one that the system gives to somebody who connects to it.
        let places = ports::find(names.len())?.into_iter().map(ports::loopback);
        let closed = |(name, place)| Ok((name, (place, door::closed(place)?)));
        let doors = names.iter().copied().zip(places).map(closed);
        Ok(Self(doors.collect::<io::Result<_>>().map_err(LabError::Proxy)?))
    }

    /// Where each of their nodes will be reached by all.
    pub(crate) fn places(&self) -> BTreeMap<NodeName, SocketAddr> {
        let for_all = self.0.iter().filter(|(name, _)| name.of.is_none());
        for_all.map(|(name, (place, _))| (name.node, *place)).collect()
    }
}

/// A proxy with doors to nodes. Dropping it closes all doors, and the connections through them.
#[derive(Debug)]
pub(crate) struct Proxy {
    doors: BTreeMap<DoorName, (SocketAddr, Arc<AtomicU64>)>,
    lanes: BTreeMap<NodeName, [Arc<Lane>; 2]>,
    network: watch::Sender<Network>,
    /// Its thread ends when this is dropped.
    _open: oneshot::Sender<()>,
}

impl Proxy {
    /// Opens these doors to the nodes behind them; a door without one stays closed.
    pub(crate) async fn start(doors: Doors, behind: impl Iterator<Item = Behind>) -> io::Result<Self> {
        let network = watch::Sender::new(Network::default());
        // What leads to a node passes the same way in the end.
        let nodes: BTreeMap<NodeName, (Behind, [Arc<Lane>; 2])> = behind
            .map(|behind| (behind.name, (behind, Default::default())))
            .collect();
        let lanes = nodes.iter().map(|(name, (_, lanes))| (*name, lanes.clone())).collect();
        let with_node = |(name, (place, socket)): (DoorName, (SocketAddr, TcpSocket))| {
            let (behind, lanes) = nodes.get(&name.node)?;
            let door = Door {
                place,
                of: name.of,
                behind: behind.clone(),
                network: network.subscribe(),
                carried: Arc::default(),
                lanes: lanes.clone(),
            };
            Some((door, socket))
        };
        let doors: Vec<(Door, TcpSocket)> = doors.0.into_iter().filter_map(with_node).collect();
        let known = |(door, _): &(Door, TcpSocket)| {
            (
                DoorName {
                    node: door.behind.name,
                    of: door.of,
                },
                (door.place, Arc::clone(&door.carried)),
            )
        };
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
            lanes,
            network,
            _open: keep_open,
        })
    }

    /// Where all reach this node.
    pub(crate) fn door(&self, node: NodeName) -> Option<SocketAddr> {
        self.route(node, None)
    }

    /// Where this app server reaches the node, by a door of its own.
    pub(crate) fn route(&self, node: NodeName, of: Option<ServerId>) -> Option<SocketAddr> {
        self.doors.get(&DoorName { node, of }).map(|(place, _)| *place)
    }

    /// Where anybody reaches this node.
    pub(crate) fn doors(&self, node: NodeName) -> impl Iterator<Item = SocketAddr> {
        self.of(node).map(|(place, _)| *place)
    }

    fn of(&self, node: NodeName) -> impl Iterator<Item = &(SocketAddr, Arc<AtomicU64>)> {
        let to_it = self.doors.iter().filter(move |(name, _)| name.node == node);
        to_it.map(|(_, door)| door)
    }

    /// The bytes that clients have sent to this node and received from it through its doors; `None` if it has none.
    pub(crate) fn carried(&self, node: NodeName) -> Option<u64> {
        let each = self.of(node).map(|(_, carried)| carried.load(Ordering::Relaxed));
        each.reduce(|all, one| all + one)
    }

    /// The node behind the door on this port.
    pub(crate) fn behind(&self, port: u16) -> Option<NodeName> {
        let mut doors = self.doors.iter();
        doors.find_map(|(name, (place, _))| (place.port() == port).then_some(name.node))
    }

    /// Lets a fault act on the network. Bytes that are under way follow the new state.
    pub(crate) fn enter(&self, target: Target, fault: Fault) {
        self.network.send_modify(|network| network.enter(target, fault));
    }

    /// Ends the fault that brought a condition.
    pub(crate) fn leave(&self, target: Target, condition: Condition) {
        self.network.send_modify(|network| network.leave(target, condition));
        if let (Target::Host(host), Condition::Lagging) = (target, condition) {
            // What a slow link still had to carry has arrived.
            let of_host = self.lanes.iter().filter(|(node, _)| node.host == Some(host));
            of_host.flat_map(|(_, lanes)| lanes).for_each(|lane| lane.clear());
        }
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
