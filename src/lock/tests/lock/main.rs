//! The lock engine on real servers.

#[path = "../kit/mod.rs"]
mod kit;

mod acquire;
mod address;
mod allocations;
mod chaos;
mod cluster;
mod fence;
mod liveness;
mod mistakes;
mod package;
mod peers;
mod section;
mod sentinel;
mod servers;
mod suspension;
mod tls;
mod waiting;
