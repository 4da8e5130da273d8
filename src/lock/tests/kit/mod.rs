//! Real servers, and what lies between them and a client, for tests of locks. It needs only the lock engine.

pub mod authority;
pub mod belief;
pub mod cluster;
pub mod intermediary;
pub mod listener;
pub mod moving;
pub mod sentinel;
pub mod server;
pub mod swarm;
pub mod trio;
pub mod turn;
pub mod waiting;

pub use server::{RedisServer, calls_in, free_port, server_bin};
pub use turn::beside;
pub use waiting::{TEST_TIMEOUT, eventually};
