//! Why a database did not do what it was asked to.

use std::time::Duration;

/// Why the database did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The tables could not be created, or connections to them could not be opened.
    #[error("{place}: {source}")]
    Open {
        /// The database, in words, without its password.
        place: String,
        /// Its error.
        source: sqlx::Error,
    },
    /// It refuses this run, for a reason with a cure.
    #[error("{place}: {said}; {cure}")]
    Refused {
        /// The database, in words, without its password.
        place: String,
        /// Its error message.
        said: String,
        /// What to do.
        cure: &'static str,
    },
    /// It did not answer within this time, while connections were opened or tables created.
    #[error(
        "{place}: no answer within {}: check that a database listens there, that it is neither stopped nor overloaded, and that \
         no firewall is in between",
        humantime::format_duration(*.within)
    )]
    Silent {
        /// The database, in words, without its password.
        place: String,
        /// How long we waited.
        within: Duration,
    },
    /// The run has a name from which no schema's name can be made.
    #[error("no schema can be named after the run \"{0}\"; runs are called like run-0a1b2c3d")]
    Name(String),
    /// A statement failed.
    #[error("the database: {}", in_words(.0))]
    Statement(#[from] sqlx::Error),
    /// A cache has no value for a key.
    #[error("the database has no value for key {key} of {cache}")]
    NoValue {
        /// The key.
        key: u64,
        /// The name of the cache.
        cache: String,
    },
    /// A product is missing.
    #[error("the database has no product {0}")]
    NoProduct(u64),
    /// The fence of the product has accepted a newer token, or the same number of another owner. Nothing was written.
    #[error("product {product} refuses token {token} of {owner}: it has accepted another")]
    Fenced {
        /// The product.
        product: u64,
        /// The number of the refused token.
        token: u64,
        /// The worker that drew it.
        owner: String,
    },
}

/// The classes of PostgreSQL's errors that end a connection: a connection exception, an operator's intervention (the server
/// is shut down, has crashed, or is starting).
const ENDS: [&str; 2] = ["08", "57P"];

impl StoreError {
    /// Whether a statement had no answer because its connection, or the whole database, has gone. Nobody knows then whether
    /// it was carried out.
    pub fn is_loss(&self) -> bool {
        let Self::Statement(error) = self else { return false };
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolTimedOut => true,
            sqlx::Error::Database(error) => error
                .code()
                .is_some_and(|code| ENDS.iter().any(|class| code.starts_with(class))),
            _ => false,
        }
    }
}

/// What a database said, without the line of its own source code; or what went wrong before it said something.
fn in_words(error: &sqlx::Error) -> String {
    error
        .as_database_error()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
