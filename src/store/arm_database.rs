use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AssertSqlSafe, ConnectOptions, raw_sql};
use tokio::time::timeout;

use super::connect::{CONNECT, OPEN, Server};
use super::schema_lock::{self, SchemaLock};
use super::{Store, StoreError, schema};
use crate::scenario::{DatabaseSpec, Initial};

/// The longest wait for a free connection. A stampede queues there for long, and that is no error.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(1);

/// How long the tables of an arm may take to be made and filled.
const BUILD: Duration = Duration::from_mins(2);

/// A pool of at most this size is opened in full at once: a connect within the measured time would be measured too.
const READY: u32 = 8;

/// Where the tables of one arm live: an SQLite file in the run's directory, or a PostgreSQL schema.
pub struct ArmDatabase {
    server: Server,
    /// What each new connection runs first.
    session: Arc<str>,
    /// The schema to drop in the end, and our lock on it; none for SQLite.
    schema: Option<(String, SchemaLock)>,
}

/// Without the options, which hold the password.
impl fmt::Debug for ArmDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArmDatabase")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl ArmDatabase {
    /// Makes the tables of the arm at position `arm` and fills them.
    ///
    /// # Errors
    /// The database can't be reached or refuses.
    pub async fn create(
        spec: &DatabaseSpec,
        arm: usize,
        run_id: &str,
        dir: &Path,
        initial: &Initial,
    ) -> Result<Self, StoreError> {
        install_default_drivers();
        if spec.url.is_sqlite() {
            Self::create_file(&dir.join(format!("arm-{arm}.sqlite")), initial).await
        } else {
            Self::create_schema(spec.url.reveal(), schema_name(run_id, arm), initial).await
        }
    }

    async fn create_file(path: &Path, initial: &Initial) -> Result<Self, StoreError> {
        let name = format!("the SQLite file {}", path.display());
        let options = AnyConnectOptions::from_str(&sqlite_url(path)).map_err(|source| StoreError::Open {
            place: name.clone(),
            source,
        })?;
        let database = Self {
            server: Server {
                options: options.disable_statement_logging(),
                name,
                connect: OPEN,
            },
            session: schema::SQLITE_SESSION.into(),
            schema: None,
        };
        database.build(schema::SQLITE_TABLES, initial).await?;
        Ok(database)
    }

    async fn create_schema(url: &str, schema: String, initial: &Initial) -> Result<Self, StoreError> {
        let server = Server::postgres(url)?;
        let session = schema::postgres_session(&schema).into();
        let lock = schema_lock::make(&server, &schema).await?;
        let database = Self {
            server,
            session,
            schema: Some((schema, lock)),
        };
        if let Err(error) = database.build(schema::POSTGRES_TABLES, initial).await {
            // If it can't be dropped either, the next run does it.
            let _ = database.remove(CONNECT).await;
            return Err(error);
        }
        Ok(database)
    }

    /// Makes the tables and fills them.
    async fn build(&self, tables: &'static str, initial: &Initial) -> Result<(), StoreError> {
        let build = async |connection: &mut AnyConnection| {
            prepare(connection, &self.session).await?;
            schema::build(connection, tables, initial).await
        };
        self.server.briefly(BUILD, build).await
    }

    /// Opens a pool of `pool` connections. Its connections belong to the runtime that this runs on: call it on the runtime
    /// of the app server that uses them.
    ///
    /// # Errors
    /// The database can't be reached or refuses.
    pub async fn open(&self, pool: u32) -> Result<Store, StoreError> {
        let session = Arc::clone(&self.session);
        let connections = AnyPoolOptions::new()
            .max_connections(pool)
            .acquire_timeout(CONNECTION_TIMEOUT)
            .acquire_slow_threshold(CONNECTION_TIMEOUT)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |connection, _| {
                let session = Arc::clone(&session);
                Box::pin(async move { prepare(connection, &session).await })
            })
            .connect_lazy_with(self.server.options.clone());
        let mut ready = Vec::new();
        for _ in 0..pool.min(READY) {
            ready.push(self.server.within(self.server.connect, connections.acquire()).await?);
        }
        drop(ready);
        Ok(Store::new(connections))
    }

    /// Drops the schema, within `limit`. An SQLite file goes with the run's directory.
    ///
    /// # Errors
    /// The schema stays: its name, why, and that the next run drops it, in one sentence.
    pub async fn remove(&self, limit: Duration) -> Result<(), String> {
        let Some((schema, _lock)) = &self.schema else {
            return Ok(());
        };
        let dropped = timeout(limit, schema_lock::drop_schema(&self.server, schema)).await;
        let why = match dropped.unwrap_or_else(|_| Err(self.server.silent(limit))) {
            Ok(()) => return Ok(()),
            Err(StoreError::Silent { within, .. }) => {
                format!("no answer within {}", humantime::format_duration(within))
            }
            Err(StoreError::Open { source, .. }) => source.to_string(),
            Err(error) => error.to_string(),
        };
        Err(format!(
            "the schema {schema} stays in {} ({why}): the next run on that database drops it",
            self.server.name
        ))
    }
}

/// The URL of an SQLite file, to be made if it is not there. All of the path that could mean something in a URL is encoded,
/// which sqlx itself does not do with `%`.
fn sqlite_url(path: &Path) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_');
    let path = path.to_string_lossy();
    format!("sqlite://{}?mode=rwc", utf8_percent_encode(&path, &PLAIN))
}

/// Sets a new connection to its session's ways: constants and a schema name of letters, digits and underscores.
async fn prepare(connection: &mut AnyConnection, session: &str) -> Result<(), sqlx::Error> {
    raw_sql(AssertSqlSafe(session)).execute(connection).await?;
    Ok(())
}

/// A schema of this run and arm. PostgreSQL cuts names at 63 bytes, so a long run id keeps its end, where ids differ.
fn schema_name(run_id: &str, arm: usize) -> String {
    let id: Vec<char> = run_id
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    let id: String = id[id.len().saturating_sub(40)..].iter().collect();
    format!("lockstorm_{id}_{arm}")
}
