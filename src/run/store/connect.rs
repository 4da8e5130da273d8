//! Connections that must not hang: a database that accepts and never answers gives another error than one that refuses.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, install_default_drivers};
use sqlx::{AnyConnection, ConnectOptions, Connection, Error};
use tokio::time::timeout;

use super::error::StoreError;
use super::numbers::unsigned;
use lockstorm_data::scenario::DatabaseSpec;

/// How long a server may take to accept a connection, and to run a short statement.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
/// How long it may take to open a file: an overloaded disk is slow, but there is no other machine to find.
pub(super) const OPEN: Duration = Duration::from_mins(1);

/// The port of PostgreSQL if its URL has none.
const POSTGRES_PORT: u16 = 5432;

/// Where a password may come from.
const PASSWORD: &str = "a password comes from PGPASSWORD, from the file that PGPASSFILE names (or ~/.pgpass; mode 0600), or \
                        from the URL in the variable that database.url_env names";

/// What to do about the error codes with which PostgreSQL refuses a run.
const CURES: [(&str, &str); 7] = [
    ("28000", PASSWORD),
    ("28P01", PASSWORD),
    ("3D000", "make it (CREATE DATABASE), or name another one in the URL"),
    (
        "42501",
        "each arm gets a schema of its own: grant the right to make schemas (GRANT CREATE ON DATABASE ... TO ...), or use another \
         user or database",
    ),
    (
        "53300",
        "end other programs' connections, lower database.pool, or raise max_connections",
    ),
    ("57P01", "it is being shut down: start it, then try again"),
    ("57P03", "it is starting or shutting down: try again once it is up"),
];

/// What to do if nothing can be heard from it.
const NOBODY: &str = "check that a database listens there, and that host and port in the URL are right";

/// How many connections a server can still give to an ordinary user, including the one that asks.
const FREE: &str = "SELECT current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint
        - count(*) + 1
    FROM pg_stat_activity WHERE backend_type = 'client backend'";

/// A database to connect to.
#[derive(Clone)]
pub(super) struct Server {
    pub options: AnyConnectOptions,
    /// The database in words, without its password: `PostgreSQL at db.example:5432`.
    pub name: String,
    /// How long a connection may take.
    pub connect: Duration,
}

/// Leaves out the options, which contain the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.name).finish()
    }
}

impl Server {
    /// The PostgreSQL server of this URL.
    pub fn postgres(url: &str) -> Result<Self, StoreError> {
        if !cfg!(feature = "postgres") {
            return Err(StoreError::Refused {
                place: "PostgreSQL".to_owned(),
                said: "this Lockstorm was built without it".to_owned(),
                cure: "build it with the feature \"postgres\", or leave out database.url",
            });
        }
        install_default_drivers();
        let options = AnyConnectOptions::from_str(url)
            .map_err(|source| StoreError::Open {
                place: "the PostgreSQL URL".to_owned(),
                source,
            })?
            .disable_statement_logging();
        let url = &options.database_url;
        let name = match url.host_str() {
            Some(host) => format!("PostgreSQL at {host}:{}", url.port().unwrap_or(POSTGRES_PORT)),
            None => "PostgreSQL at its socket".to_owned(),
        };
        Ok(Self {
            options,
            name,
            connect: CONNECT,
        })
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Result<AnyConnection, StoreError> {
        self.within(self.connect, self.options.connect()).await
    }

    /// Does `work`, with an error if it takes longer than `limit`.
    pub async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        match timeout(limit, work).await {
            Ok(done) => done.map_err(|source| self.failed(source)),
            Err(_) => Err(self.silent(limit)),
        }
    }

    /// Does `work` on a connection of its own, each within its limit, and closes the connection.
    pub async fn briefly<T>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut AnyConnection) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connect().await?;
        let done = self.within(limit, work(&mut connection)).await?;
        // The work is done, whether or not the connection closes properly.
        let _ = timeout(limit, connection.close()).await;
        Ok(done)
    }

    pub fn failed(&self, source: Error) -> StoreError {
        let place = self.name.clone();
        let (said, cure) = match &source {
            Error::Database(error) => {
                let cure = error.code().and_then(|code| CURES.iter().find(|(of, _)| *of == code));
                (error.message().to_owned(), cure.map(|(_, cure)| *cure))
            }
            // Only a socket gives this; what is wrong with a file, SQLite says in its own words.
            Error::Io(error) => (error.to_string(), Some(NOBODY)),
            _ => (String::new(), None),
        };
        match cure {
            Some(cure) => StoreError::Refused { place, said, cure },
            None => StoreError::Open { place, source },
        }
    }

    pub fn silent(&self, within: Duration) -> StoreError {
        StoreError::Silent {
            place: self.name.clone(),
            within,
        }
    }
}

/// How many connections the database can still give; `None` if there is no limit, as with SQLite.
///
/// # Errors
/// The database can't be reached, or does not answer.
pub async fn free_connections(spec: &DatabaseSpec) -> Result<Option<u64>, StoreError> {
    if spec.url.is_sqlite() {
        return Ok(None);
    }
    let free = Server::postgres(spec.url.reveal())?
        .briefly(CONNECT, async |connection| {
            sqlx::query_scalar::<_, i64>(FREE).fetch_one(connection).await
        })
        .await?;
    Ok(Some(unsigned(free.max(0))))
}
