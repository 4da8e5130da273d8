//! A Docker engine, through its API: what the containers of a lab need of it.
//!
//! Everything that is made carries labels that say whose it is, and only what carries them is ever removed.

mod changes;
mod claim;
mod container;
mod endpoints;
mod engine;
mod image;
mod keep;
mod labels;
pub(super) mod leftovers;
mod network;
mod removal;
mod server;
mod stack;
mod supply;

pub(super) use self::keep::keep;
pub(super) use self::server::check;
pub use self::server::stack_has_sentinels;
