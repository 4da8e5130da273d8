//! The database: a catalogue that caches are filled from, the stock, and the append-only ledger of orders.
//!
//! Each arm has a [`ArmDatabase`] of its own (an SQLite file or a PostgreSQL schema), and each app server a [`Store`] (a pool of
//! connections to it): pausing one app server must not stop another, nor one arm another.

mod arm_database;
mod connect;
mod fence;
mod room;
mod schema;
mod schema_lock;
mod statements;

pub use arm_database::ArmDatabase;
pub use fence::Token;
pub use room::room;
pub use statements::{Mark, Order, Store, Value};

use std::time::Duration;

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The tables could not be made, or connections to them could not be opened.
    #[error("{place}: {source}")]
    Open {
        /// The database, in words, without its password.
        place: String,
        /// What it answered.
        source: sqlx::Error,
    },
    /// It lets nobody in as this user, or with this password.
    #[error(
        "{place}: {said}; a password comes from PGPASSWORD, from the file that PGPASSFILE names (or ~/.pgpass; mode 0600), or from \
         the URL in the variable that database.url_env names"
    )]
    Login {
        /// The database, in words, without its password.
        place: String,
        /// What it answered.
        said: String,
    },
    /// It did not answer within this time while connections were opened or tables made.
    #[error(
        "{place}: no answer within {}: check that a database listens there, that it is neither stopped nor overloaded, and that \
         no firewall is in between",
        humantime::format_duration(*.within)
    )]
    Silent {
        /// The database, in words, without its password.
        place: String,
        /// How long it was waited for.
        within: Duration,
    },
    /// A statement failed.
    #[error("the database: {0}")]
    Statement(#[from] sqlx::Error),
    /// There is no such row.
    #[error("the database has no {0}")]
    Missing(String),
    /// This product's fence has accepted a newer token, or the same number of another owner. Nothing was written.
    #[error("product {product} refuses token {token} of {owner}: it has accepted another")]
    Fenced {
        /// The product.
        product: u64,
        /// The number of the refused token.
        token: u64,
        /// Whose it is.
        owner: String,
    },
}

/// The databases know no unsigned numbers. None of ours is near the limit: rows are counted, not hashed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The way back. The tables hold no negative number (`CHECK`).
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
