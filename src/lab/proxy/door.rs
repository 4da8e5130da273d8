//! The place where a proxy accepts connections for one node.

use std::io;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::line::Line;
use super::pump::pump;
use crate::lock::NodeAddress;
use crate::timer::Timer;

/// The pause after a failure to accept a connection: too many open files, most likely.
const PAUSE: Duration = Duration::from_millis(20);

/// A listener, the node behind it, and the line to that node.
#[derive(Debug)]
pub(super) struct Door {
    pub listener: TcpListener,
    /// Where it is; it may come back at another port.
    pub node: watch::Receiver<NodeAddress>,
    pub line: watch::Receiver<Line>,
}

impl Door {
    /// Accepts connections for ever. One that can't reach the node is closed at once.
    pub(super) async fn serve(self, timer: Timer) {
        loop {
            match self.listener.accept().await {
                Ok((caller, _)) => {
                    let carried = carry(caller, self.node.borrow().clone(), self.line.clone(), timer.clone());
                    // How a connection ends is seen by both of its ends.
                    tokio::spawn(async move { drop(carried.await) });
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

/// Carries one connection to the node, until one end closes it.
async fn carry(caller: TcpStream, node: NodeAddress, line: watch::Receiver<Line>, timer: Timer) -> io::Result<()> {
    let callee = TcpStream::connect((node.host(), node.port())).await?;
    // The caller is about to send a password, and trusts this program to know whom it reaches.
    node.check()?;
    for stream in [&caller, &callee] {
        stream.set_nodelay(true)?;
    }
    let (from_caller, to_caller) = caller.into_split();
    let (from_callee, to_callee) = callee.into_split();
    tokio::select! {
        ended = pump(from_caller, to_callee, line.clone(), &timer) => ended,
        ended = pump(from_callee, to_caller, line, &timer) => ended,
    }
}
