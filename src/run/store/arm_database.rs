use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AssertSqlSafe, ConnectOptions, raw_sql};
use tokio::time::timeout;

use super::connect::{CONNECT, OPEN, Server};
use super::error::StoreError;
use super::schema;
use super::schema_lock::{self, SchemaLock};
use super::schema_name::SchemaName;
use super::statements::Store;
use lockstorm_data::scenario::{DatabaseSpec, Initial};

/// The longest wait for a free connection. A stampede queues there for a long time, which is not an error.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(1);

/// How long it may take to create and fill the tables of an arm.
const BUILD: Duration = Duration::from_mins(2);

/// A pool of at most this size is opened completely at once, because connecting during the load would be measured too.
const READY: u32 = 8;

/// The database of one arm: an SQLite file in the run's directory, or a PostgreSQL schema.
#[derive(Debug)]
pub struct ArmDatabase {
    server: Server,
    /// The statements that each new connection runs first.
    session: Arc<str>,
    /// The schema to drop at the end, with our lock on it; `None` for SQLite.
    schema: Option<(SchemaName, SchemaLock)>,
}

impl ArmDatabase {
    /// Creates and fills the tables of the arm at position `arm`.
    ///
    /// # Errors
    /// The database can't be reached, or refuses.
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
            let schema = SchemaName::of_arm(run_id, arm).ok_or_else(|| StoreError::Name(run_id.to_owned()))?;
            Self::create_schema(spec.url.reveal(), schema, initial).await
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

    async fn create_schema(url: &str, schema: SchemaName, initial: &Initial) -> Result<Self, StoreError> {
        let server = Server::postgres(url)?;
        let session = schema::postgres_session(&schema).into();
        let lock = schema_lock::make(&server, &schema).await?;
        let database = Self {
            server,
            session,
            schema: Some((schema, lock)),
        };
        if let Err(error) = database.build(schema::POSTGRES_TABLES, initial).await {
            // If it can't be dropped either, the next run does that.
            let _ = database.remove(CONNECT).await;
            return Err(error);
        }
        Ok(database)
    }

    /// Creates and fills the tables.
    async fn build(&self, tables: &'static str, initial: &Initial) -> Result<(), StoreError> {
        let build = async |connection: &mut AnyConnection| {
            prepare(connection, &self.session).await?;
            schema::build(connection, tables, initial).await
        };
        self.server.briefly(BUILD, build).await
    }

    /// Opens a pool of `pool` connections. They belong to the current runtime, so this must be called on the runtime of
    /// the app server that uses them.
    ///
    /// # Errors
    /// The database can't be reached, or refuses.
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

    /// Drops the schema, within `limit`. An SQLite file is removed with the run's directory.
    ///
    /// # Errors
    /// One sentence that says that the schema is left, why, and what becomes of it.
    pub async fn remove(&self, limit: Duration) -> Result<(), String> {
        let Some((schema, _lock)) = &self.schema else {
            return Ok(());
        };
        let dropped = timeout(limit, schema_lock::drop_schema(&self.server, schema)).await;
        let (schema, place) = (schema.text(), &self.server.name);
        let why = match dropped.unwrap_or_else(|_| Err(self.server.silent(limit))) {
            Ok(true) => return Ok(()),
            Ok(false) => {
                return Err(format!(
                    "{place} has no schema {schema} any more that belongs to this user and has Lockstorm's comment, so none was dropped"
                ));
            }
            Err(StoreError::Silent { within, .. }) => {
                format!("no answer within {}", humantime::format_duration(within))
            }
            Err(StoreError::Open { source, .. }) => source.to_string(),
            Err(StoreError::Refused { said, .. }) => said,
            Err(error) => error.to_string(),
        };
        Err(format!(
            "the schema {schema} is left in {place} ({why}): the next run on that database drops it"
        ))
    }
}

/// The URL of an SQLite file, which is created if it is missing. Everything in the path that has a meaning in URLs is
/// encoded; sqlx itself does not encode `%`.
fn sqlite_url(path: &Path) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_');
    let path = path.to_string_lossy();
    format!("sqlite://{}?mode=rwc", utf8_percent_encode(&path, &PLAIN))
}

/// Runs the statements of a session on a new connection. They consist of constants and the name of one of our schemas.
async fn prepare(connection: &mut AnyConnection, session: &str) -> Result<(), sqlx::Error> {
    raw_sql(AssertSqlSafe(session)).execute(connection).await?;
    Ok(())
}
