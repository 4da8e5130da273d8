//! The place where a proxy accepts connections for one node.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::line::{Lane, Line};
use super::network::{Network, OneWay};
use super::pump::{Ended, pump};
use crate::client::Life;
use crate::network::source;
use crate::server::node_name::NodeName;
use lockstorm_base::timer::Timer;
use lockstorm_data::model::ServerId;
use lockstorm_lock::NodeAddress;

/// The pause after a failure to accept a connection (too many open files, most likely), or to bind the door's port again.
const PAUSE: Duration = Duration::from_millis(20);
/// How often it is tried whether a node that was started again listens.
const LOOK: Duration = Duration::from_millis(2);
/// How many connections wait to be accepted: as many as at a server.
const BACKLOG: u32 = 511;

/// What a door has to know.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub place: SocketAddr,
    /// The app server that alone uses it, if there is one.
    pub of: Option<ServerId>,
    pub behind: Behind,
    pub network: watch::Receiver<Network>,
    /// The bytes that clients have sent and received through it.
    pub carried: Arc<AtomicU64>,
    /// What all connections through it share, there and back.
    pub lanes: [Arc<Lane>; 2],
}

/// The node behind a door.
#[derive(Debug, Clone)]
pub(crate) struct Behind {
    pub name: NodeName,
    /// Where it is; it may come back at another port.
    pub address: watch::Receiver<NodeAddress>,
    /// Whether it is dead; `None` if that is not known, because it is not ours.
    pub life: Option<Life>,
}

/// A socket that has the port of a door, and refuses connections until it listens.
pub(super) fn closed(place: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // The connections through it that have just ended don't stand in its way.
    socket.set_reuseaddr(true)?;
    socket.bind(place)?;
    Ok(socket)
}

/// Lets a socket that has a door's port accept connections.
pub(super) fn open(socket: TcpSocket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)
}

impl Door {
    /// Accepts connections for ever, except while the node is dead, or is to refuse them: then the door refuses, as the port of the node
    /// itself does. One that can't reach the node all the same is closed at once.
    pub(super) async fn serve(mut self, mut listener: TcpListener, timer: Timer) {
        loop {
            let mut life = self.behind.life.clone();
            let is_dead = async {
                match &mut life {
                    Some(life) => life.ends().await,
                    None => pending().await,
                }
            };
            let mut network = self.network.clone();
            tokio::select! {
                () = is_dead => {}
                () = self.refuses(&mut network, true) => {}
                () = self.accept(&listener, &timer) => {}
            }
            drop(listener);
            listener = loop {
                // Nobody else wants a port that this lab has claimed, so it is free at once.
                let Ok(socket) = closed(self.place) else {
                    sleep(PAUSE).await;
                    continue;
                };
                self.refuses(&mut network, false).await;
                self.node_listens().await;
                match open(socket) {
                    Ok(listener) => break listener,
                    Err(_) => sleep(PAUSE).await,
                }
            };
        }
    }

    /// The way from a client to the node.
    const fn way_there(&self) -> OneWay {
        OneWay {
            caller: None,
            server: self.of,
            callee: self.behind.name,
            is_back: false,
        }
    }

    /// Waits until connections are to be refused, or are not any more; for ever once the proxy is closing.
    async fn refuses(&self, network: &mut watch::Receiver<Network>, wanted: bool) {
        let way = self.way_there();
        let is_so = |network: &Network| network.state(&way).refused == wanted;
        if network.wait_for(is_so).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Accepts connections for ever.
    async fn accept(&self, listener: &TcpListener, timer: &Timer) {
        loop {
            match listener.accept().await {
                Ok((caller, from)) => {
                    let there = Line {
                        network: self.network.clone(),
                        path: OneWay {
                            caller: source::caller(from.ip()),
                            ..self.way_there()
                        },
                        lane: Arc::clone(&self.lanes[0]),
                        carried: source::is_client(from.ip()).then(|| Arc::clone(&self.carried)),
                    };
                    let node = self.behind.address.borrow().clone();
                    let back = Line {
                        path: there.path.opposite(),
                        lane: Arc::clone(&self.lanes[1]),
                        ..there.clone()
                    };
                    let carried = carry(caller, node, there, back, timer.clone());
                    // How a connection ends is seen by both of its ends.
                    tokio::spawn(async move { drop(carried.await) });
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Waits until the node accepts connections.
    async fn node_listens(&mut self) {
        loop {
            if let Some(life) = &mut self.behind.life {
                life.begins().await;
            }
            let node = self.behind.address.borrow().clone();
            if TcpStream::connect((node.host(), node.port())).await.is_ok() {
                return;
            }
            sleep(LOOK).await;
        }
    }
}

/// Carries one connection to the node, until one end closes it and the other one can hear that.
async fn carry(caller: TcpStream, node: NodeAddress, mut there: Line, mut back: Line, timer: Timer) -> io::Result<()> {
    if there.state().cut || back.state().cut {
        return hold(caller, there, back).await;
    }
    let callee = TcpStream::connect((node.host(), node.port())).await?;
    // The caller is about to send a password, and trusts this program to know whom it reaches.
    node.check()?;
    for stream in [&caller, &callee] {
        stream.set_nodelay(true)?;
    }
    let (mut from_caller, mut to_caller) = caller.into_split();
    let (mut from_callee, mut to_callee) = callee.into_split();
    let (ended, mut news) = tokio::select! {
        ended = pump(&mut from_caller, &mut to_callee, there.clone(), &timer) => (ended, back),
        ended = pump(&mut from_callee, &mut to_caller, back.clone(), &timer) => (ended, there),
    };
    if ended == Ended::ReceiverGone {
        // The sender hears of that from the other side, over a path that may be cut.
        news.uncut().await;
    }
    Ok(())
}

/// Holds a connection that was made while it could not be: its first packets are lost. The kernel has accepted it all the
/// same, so it stays open and silent until the cut ends or its caller gives up. What was sent meanwhile was never sent.
async fn hold(mut caller: TcpStream, mut there: Line, mut back: Line) -> io::Result<()> {
    let mut lost = [0; 1024];
    let healed = async { while (there.state().cut || back.state().cut) && there.changed().await {} };
    tokio::select! {
        () = healed => {}
        () = async { while caller.read(&mut lost).await.is_ok_and(|length| length > 0) {} } => {}
    }
    Ok(())
}
