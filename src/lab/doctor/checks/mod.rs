//! The checks: pure functions of facts.

mod server;
mod set;

pub(super) use self::server::of_server;
pub(super) use self::set::{of_set, repeated, same_servers};
