//! One node: where it is, what is queued for it, the connection, and the bytes that go over it.

pub(crate) mod address;
pub(crate) mod connection;
pub(crate) mod greeting;
pub(crate) mod job;
mod listener;
pub(crate) mod options;
pub(crate) mod question;
pub(crate) mod queue;
pub(crate) mod reply;
pub(crate) mod stream;
#[cfg(feature = "tls")]
mod tls;
mod url;
pub(crate) mod wire;
