//! A Docker engine, through its API: what the containers of a lab need of it.
//!
//! Everything that is made carries labels that say whose it is, and only what carries them is ever removed.

mod changes;
mod claim;
mod container;
mod endpoints;
mod engine;
mod image;
mod labels;
pub(super) mod leftovers;
mod network;
mod removal;
mod stack;

pub(super) use self::changes::Change;
pub(super) use self::claim::Claim;
pub(super) use self::container::{Container, Life, place_of};
pub(super) use self::endpoints::{Endpoints, forget, rejoin_all};
pub(super) use self::engine::Engine;
pub(super) use self::image::program_of;
pub(super) use self::labels::Labels;
pub(super) use self::network::Network;
pub(super) use self::removal::remove_all;
pub(super) use self::stack::Stack;
