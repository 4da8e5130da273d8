//! The database: a catalogue that caches are filled from, the stock, and the append-only ledger of orders.
//!
//! Each arm has an [`ArmDatabase`] of its own (an SQLite file or a PostgreSQL schema), and each app server a [`Store`] for
//! it (a pool of connections): pausing one app server must not stop another, nor one arm another.

mod arm_database;
mod connect;
mod error;
mod fence;
mod numbers;
mod schema;
mod schema_lock;
mod schema_name;
mod session_lock;
mod statements;

pub use arm_database::ArmDatabase;
pub use connect::free_connections;
pub use error::StoreError;
pub use fence::Token;
pub use session_lock::SessionLocks;
pub use statements::{Mark, Order, Store};
