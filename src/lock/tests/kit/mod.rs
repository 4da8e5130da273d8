//! What tests of locks need, with nothing but the lock engine: real servers ([`server`]) alone, three as nodes of an app server
//! ([`trio`]), watched by Sentinels ([`sentinel`]) or as a cluster ([`cluster`]), with TLS ([`authority`]); something between a
//! client and a server ([`intermediary`]); who listens to a node ([`listener`]), what a caller may be told while a master
//! moves ([`moving`]), app servers that compete ([`swarm`]) and who of them believed to hold what ([`belief`]); waiting for
//! conditions ([`waiting`]), and whose turn it is ([`turn`]).

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

pub use server::RedisServer;
pub use turn::beside;
pub use waiting::{TEST_TIMEOUT, eventually, in_time, runtime, until};
