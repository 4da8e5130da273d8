//! Sessions with servers: everything that a lab asks and orders goes through the lock engine's own connections.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use lockstorm_lock::{NodeAddress, NodeOptions, Session, SessionError};
use tokio::net::TcpSocket;
use tokio::time::timeout;

use crate::network::source;

/// A session in which connecting and each answer may take so long.
pub(crate) async fn open(address: &NodeAddress, limit: Duration) -> Result<Session, SessionError> {
    Session::open(address, &options(limit)).await
}

/// The same to a node on this machine that speaks plain text, from this of its addresses, if one is given. Whoever calls this limits
/// the time of the connect.
pub(crate) async fn open_from(
    from: Option<Ipv4Addr>,
    address: &NodeAddress,
    limit: Duration,
) -> Result<Session, SessionError> {
    let socket = TcpSocket::new_v4()?;
    if let Some(from) = from {
        socket.bind((from, 0).into())?;
    }
    let place: SocketAddr = address.to_string().parse().map_err(io::Error::other)?;
    Session::on(socket.connect(place).await?, address, &options(limit)).await
}

/// The same, so that the proxy knows whose it is, if the node is behind a door of it.
pub(crate) async fn open_as_lab(address: &NodeAddress, limit: Duration) -> Result<Session, SessionError> {
    if address.host().parse() != Ok(Ipv4Addr::LOCALHOST) || address.uses_tls() {
        return open(address, limit).await;
    }
    match timeout(limit, open_from(Some(source::OF_LAB), address, limit)).await {
        Ok(Err(SessionError::Io(error))) if error.kind() == ErrorKind::AddrNotAvailable => open(address, limit).await,
        Ok(opened) => opened,
        Err(late) => Err(SessionError::Io(late.into())),
    }
}

/// The options of such a session.
pub(crate) fn options(limit: Duration) -> NodeOptions {
    NodeOptions::new().connect_timeout(limit)
}

/// Whether nothing was answered in time.
pub(crate) fn is_late(error: &SessionError) -> bool {
    matches!(error, SessionError::Io(error) if error.kind() == ErrorKind::TimedOut)
}

/// Why a server can't be asked, or does not do what it was told.
pub(crate) fn words(error: &SessionError) -> String {
    match error {
        SessionError::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            ErrorKind::TimedOut => "no answer".to_owned(),
            ErrorKind::InvalidData => "what answers there is not a Redis or Valkey".to_owned(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                "it closes connections".to_owned()
            }
            _ => error.to_string(),
        },
        SessionError::Denied(error) => format!("it refuses us: {error}"),
        _ => error.to_string(),
    }
}
