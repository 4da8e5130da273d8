//! A TCP proxy in front of nodes, in labs whose scenario breaks the network. What is done to the network is done here.
//!
//! It has a thread of its own, and adds some 0.05 ms to a round trip: a lab has one only if a fault needs it.

mod door;
mod doors;
mod line;
mod network;
mod pump;

pub(super) use self::door::Behind;
pub(super) use self::network::{Hindrance, Network, OneWay};
pub(super) use doors::{DoorName, Doors, Proxy};
