//! One node: its address, the queue of commands for it, the connection, and the wire format.

pub(crate) mod address;
pub(crate) mod backoff;
pub(crate) mod census;
mod connection;
pub(crate) mod greeting;
pub(crate) mod job;
mod listener;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod question;
pub(crate) mod queue;
pub(crate) mod redirector;
mod replication;
pub(crate) mod reply;
pub(crate) mod route;
pub(crate) mod session;
mod silent;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod task;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod url;
pub(crate) mod wire;
