//! The place where a proxy accepts connections for one node.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::line::Line;
use super::network::{Network, OneWay};
use super::pump::{Ended, pump};
use crate::network::source;
use crate::server::node_name::NodeName;
use lockstorm_base::timer::Timer;
use lockstorm_lock::NodeAddress;

/// The pause after a failure to accept a connection: too many open files, most likely.
const PAUSE: Duration = Duration::from_millis(20);

/// A listener, the node behind it, and the network.
#[derive(Debug)]
pub(super) struct Door {
    pub listener: TcpListener,
    pub name: NodeName,
    /// Where the node is; it may come back at another port.
    pub node: watch::Receiver<NodeAddress>,
    pub network: watch::Receiver<Network>,
}

impl Door {
    /// Accepts connections for ever. One that can't reach the node is closed at once: whoever has sent something by then sees a
    /// reset, where the port of the dead node itself refuses.
    pub(super) async fn serve(self, timer: Timer) {
        loop {
            match self.listener.accept().await {
                Ok((caller, from)) => {
                    let there = Line {
                        network: self.network.clone(),
                        path: OneWay {
                            caller: source::caller(from.ip()),
                            callee: self.name,
                            is_back: false,
                        },
                    };
                    let carried = carry(caller, self.node.borrow().clone(), there, timer.clone());
                    // How a connection ends is seen by both of its ends.
                    tokio::spawn(async move { drop(carried.await) });
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

/// Carries one connection to the node, until one end closes it and the other one can hear that.
async fn carry(caller: TcpStream, node: NodeAddress, mut there: Line, timer: Timer) -> io::Result<()> {
    let mut back = Line {
        path: there.path.opposite(),
        ..there.clone()
    };
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
