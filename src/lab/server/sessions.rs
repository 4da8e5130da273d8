//! Sessions with servers: everything that a lab asks and orders goes through the lock engine's own connections.

use std::io::ErrorKind;
use std::time::Duration;

use lockstorm_lock::{NodeAddress, NodeOptions, Session, SessionError};

/// A session in which connecting and each answer may take so long.
pub(crate) async fn open(address: &NodeAddress, limit: Duration) -> Result<Session, SessionError> {
    Session::open(address, &options(limit)).await
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
