//! Finds free ports for nodes.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};

use crate::error::LabError;

/// The ports to choose from: below the range that systems use for outgoing connections. Within that range, a client that
/// tries to reach a dead node could get that node's port, connect to itself, and block the restart.
const RANGE: std::ops::Range<u16> = 17_000..32_000;
/// How many ports are tried for each one that is needed.
const TRIES: usize = 200;

/// How many ports this process claims at most: those that it chose last. A lab has fewer.
const CLAIMS: usize = 128;
/// The claims of this process, the newest last. Nobody listens on the port of a host that is down, and no other lab of this machine
/// may choose it meanwhile.
static CLAIMED: Mutex<VecDeque<UnixDatagram>> = Mutex::new(VecDeque::new());

/// The ports of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodePorts {
    /// Where it is used.
    pub port: u16,
    /// Where the other nodes of its cluster talk to it, if it is in one.
    pub bus: Option<u16>,
}

impl NodePorts {
    /// Other ports for the same node.
    pub(crate) fn others(self) -> Result<Self, LabError> {
        let found = find(2)?;
        Ok(Self {
            port: found[0],
            bus: self.bus.map(|_| found[1]),
        })
    }
}

/// The loopback address with this port.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Checks whether a node could use this port now.
pub(crate) fn check(port: u16) -> Result<(), String> {
    match TcpListener::bind(loopback(port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err("is taken".to_owned()),
        Err(error) => Err(format!("cannot be used ({error})")),
    }
}

/// Different ports on which nobody listens now. Somebody may take one before its node does.
pub(crate) fn find(count: usize) -> Result<Vec<u16>, LabError> {
    // All are kept bound until the last one is found, so that they differ.
    let mut found: Vec<(u16, Option<UnixDatagram>, TcpListener)> = Vec::with_capacity(count);
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..count * TRIES {
        if found.len() == count {
            break;
        }
        let port = rand::random_range(RANGE);
        match claim(port).and_then(|claim| Ok((claim, TcpListener::bind(loopback(port))?))) {
            Ok((claim, listener)) => found.push((port, claim, listener)),
            Err(error) => last = error,
        }
    }
    if found.len() < count {
        return Err(LabError::Other(format!("no free port found on 127.0.0.1: {last}")));
    }
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let keep = |(port, claim, _)| {
        claimed.extend(claim);
        port
    };
    let ports = found.into_iter().map(keep).collect();
    let old = claimed.len().saturating_sub(CLAIMS);
    claimed.drain(..old);
    Ok(ports)
}

/// Claims a port, if no other lab has: by a socket whose name only one process of the machine can have, and which goes with it.
#[cfg(target_os = "linux")]
fn claim(port: u16) -> io::Result<Option<UnixDatagram>> {
    use std::os::linux::net::SocketAddrExt;
    let name = std::os::unix::net::SocketAddr::from_abstract_name(format!("lockstorm-port-{port}"))?;
    UnixDatagram::bind_addr(&name).map(Some)
}

/// There are no such names here.
#[cfg(not(target_os = "linux"))]
fn claim(_port: u16) -> io::Result<Option<UnixDatagram>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_ports_are_free_and_different() {
        let mut ports = find(10).expect("free ports");
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 10);
        assert!(ports.iter().all(|port| RANGE.contains(port)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_port_that_was_found_is_claimed_and_the_oldest_claims_end() {
        let first = find(1).expect("a free port")[0];
        assert!(claim(first).is_err(), "nobody listens there, but it is claimed");
        find(CLAIMS).expect("free ports");
        assert!(claim(first).is_ok(), "many have been found since");
    }

    #[test]
    fn a_port_in_use_is_taken() {
        let listener = TcpListener::bind(loopback(0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        assert_eq!(check(port), Err("is taken".to_owned()));
        drop(listener);
        assert_eq!(check(port), Ok(()));
    }
}
