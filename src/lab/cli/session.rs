//! A redis-cli that somebody uses.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use super::relay::Relay;
use crate::error::LabError;
use crate::network::source;
use crate::server::node_name::NodeName;
use crate::server::ports;
use lockstorm_base::{Stop, Stops};
use lockstorm_lock::NodeAddress;

/// How long it may take to note what was written, once redis-cli has ended.
const NOTED: Duration = Duration::from_secs(1);

/// A redis-cli on a node of a lab.
#[derive(Debug)]
pub struct Cli {
    pub(crate) node: NodeName,
    /// Where the node is, with the lab's password.
    pub(crate) address: NodeAddress,
    pub(crate) program: PathBuf,
    pub(crate) run_dir: PathBuf,
}

impl Cli {
    /// Runs it with these arguments until it ends. It is connected through us, and each of its commands that writes is an event of
    /// the lab. The password is passed in the environment, which other users can't see.
    ///
    /// # Errors
    /// The node can't be reached, or the program not be started.
    pub async fn run(self, arguments: &[OsString]) -> Result<ExitStatus, LabError> {
        let other = |what: String| move |error: io::Error| LabError::Other(format!("cannot {what}: {error}"));
        let (node, address) = (self.node, self.address);
        TcpStream::connect((address.host(), address.port()))
            .await
            .map_err(other(format!("connect to {node} at {address}")))?;
        // redis-cli shows it: the port of the node, if that is free at another address of this machine.
        let listener = match TcpListener::bind((source::OF_LAB, address.port())).await {
            Err(_) => TcpListener::bind(ports::loopback(0)).await,
            bound => bound,
        };
        let (listener, at) = listener
            .and_then(|listener| listener.local_addr().map(|at| (listener, at)))
            .map_err(other("listen for redis-cli".to_owned()))?;
        let mut command = Command::new(&self.program);
        command.args(["-h", &at.ip().to_string(), "-p", &at.port().to_string()]);
        command.args(arguments);
        for name in ["REDISCLI_AUTH", "VALKEYCLI_AUTH"] {
            match address.credentials() {
                Some((_, password)) => command.env(name, password),
                None => command.env_remove(name),
            };
        }
        let mut stops = Stops::listen().map_err(other("listen for signals".to_owned()))?;
        let mut child = command
            .spawn()
            .map_err(other(format!("run {}", self.program.display())))?;
        let relay = Relay {
            node,
            address,
            run_dir: self.run_dir,
        };
        let (end, over) = oneshot::channel();
        LocalSet::new()
            .run_until(async {
                let carried = spawn_local(relay.serve(listener, over));
                let ended = loop {
                    tokio::select! {
                        ended = child.wait() => break ended,
                        stop = stops.next() => if let Some(id) = child.id().filter(|_| !is_typed(stop)) {
                            // It was not reaped, so the id is still its own, and a process id is a positive `pid_t`.
                            let _ = kill(Pid::from_raw(id.cast_signed()), Signal::try_from(stop as i32).ok());
                        },
                    }
                };
                drop(end);
                // A node that is paused lets nobody in, and nothing was sent to it then.
                let _ = timeout(NOTED, carried).await;
                ended.map_err(other("wait for redis-cli".to_owned()))
            })
            .await
    }
}

/// Whether it comes from the keyboard of a terminal, so that redis-cli has got it, too.
fn is_typed(stop: Stop) -> bool {
    matches!(stop, Stop::Interrupt | Stop::Quit) && io::stdin().is_terminal()
}
