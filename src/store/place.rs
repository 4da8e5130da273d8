use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AssertSqlSafe, ConnectOptions, Connection, raw_sql};

use super::claim::{self, Claim};
use super::{Initial, Store, StoreError, schema};
use crate::scenario::DatabaseSpec;

/// The longest wait for a free connection. A stampede queues there for long, and that is no error.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pool of at most this size is opened in full at once: a connect within the measured time would be measured too.
const READY: u32 = 8;

/// Where the tables of one arm live: an SQLite file in the run's directory, or a PostgreSQL schema.
#[derive(Debug)]
pub struct Place {
    options: AnyConnectOptions,
    /// What each new connection runs first.
    session: Arc<str>,
    /// The schema to drop in the end, and our claim on it; none for SQLite.
    schema: Option<(String, Claim)>,
    /// The database in words, without its password.
    name: String,
}

impl Place {
    /// Makes the tables of the arm at position `arm` and fills them.
    ///
    /// # Errors
    /// The URL is none of ours, or the database can't be reached or refuses.
    pub async fn create(
        spec: &DatabaseSpec,
        arm: usize,
        run_id: &str,
        dir: &Path,
        initial: &Initial,
    ) -> Result<Self, StoreError> {
        install_default_drivers();
        if spec.url == "sqlite" {
            Self::create_file(&dir.join(format!("arm-{arm}.sqlite")), initial).await
        } else if spec.url.starts_with("postgres://") || spec.url.starts_with("postgresql://") {
            Self::create_schema(&spec.url, schema_name(run_id, arm), initial).await
        } else {
            // What comes after the scheme may hold a password.
            Err(StoreError::Url(
                spec.url.split(':').next().unwrap_or_default().to_owned(),
            ))
        }
    }

    async fn create_file(path: &Path, initial: &Initial) -> Result<Self, StoreError> {
        let name = format!("the SQLite file {}", path.display());
        let made = async {
            let options = AnyConnectOptions::from_str(&sqlite_url(path))?.disable_statement_logging();
            let session = schema::SQLITE_SESSION.into();
            build(&options, &session, schema::SQLITE_TABLES, initial).await?;
            Ok((options, session))
        };
        let (options, session) = made.await.map_err(|source| failed(&name, source))?;
        Ok(Self {
            options,
            session,
            schema: None,
            name,
        })
    }

    async fn create_schema(url: &str, schema: String, initial: &Initial) -> Result<Self, StoreError> {
        let options = AnyConnectOptions::from_str(url)
            .map_err(|source| failed("the PostgreSQL URL", source))?
            .disable_statement_logging();
        let name = format!(
            "PostgreSQL at {}",
            options.database_url.host_str().unwrap_or("its socket")
        );
        let session = schema::postgres_session(&schema).into();
        let made = async {
            let claim = claim::make(&options, &schema).await?;
            build(&options, &session, schema::POSTGRES_TABLES, initial).await?;
            Ok(claim)
        };
        let claim = made.await.map_err(|source| failed(&name, source))?;
        Ok(Self {
            options,
            session,
            schema: Some((schema, claim)),
            name,
        })
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
            .acquire_timeout(PATIENCE)
            .acquire_slow_threshold(PATIENCE)
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |connection, _| {
                let session = Arc::clone(&session);
                Box::pin(async move { prepare(connection, &session).await })
            })
            .connect_lazy_with(self.options.clone());
        let mut ready = Vec::new();
        for _ in 0..pool.min(READY) {
            ready.push(
                connections
                    .acquire()
                    .await
                    .map_err(|source| failed(&self.name, source))?,
            );
        }
        drop(ready);
        Ok(Store::new(connections))
    }

    /// Drops the schema. An SQLite file goes with the run's directory. A failure is logged: at the end of a run nobody can
    /// mend it, and the next run sweeps.
    pub async fn remove(&self) {
        let Some((schema, _claim)) = &self.schema else { return };
        if let Err(error) = claim::drop_schema(&self.options, schema).await {
            tracing::warn!(%error, schema, "the schema was not dropped");
        }
    }
}

/// The URL of an SQLite file, to be made if it is not there. All of the path that could mean something in a URL is encoded,
/// which sqlx itself does not do with `%`.
fn sqlite_url(path: &Path) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_');
    let path = path.to_string_lossy();
    format!("sqlite://{}?mode=rwc", utf8_percent_encode(&path, &PLAIN))
}

/// Makes the tables and fills them.
async fn build(
    options: &AnyConnectOptions,
    session: &Arc<str>,
    tables: &'static str,
    initial: &Initial,
) -> Result<(), sqlx::Error> {
    let mut connection = options.connect().await?;
    prepare(&mut connection, session).await?;
    schema::build(&mut connection, tables, initial).await?;
    connection.close().await
}

/// Sets a new connection to its session's ways: constants and a schema name of letters, digits and underscores.
async fn prepare(connection: &mut AnyConnection, session: &str) -> Result<(), sqlx::Error> {
    raw_sql(AssertSqlSafe(session)).execute(connection).await?;
    Ok(())
}

fn failed(place: &str, source: sqlx::Error) -> StoreError {
    StoreError::Open {
        place: place.to_owned(),
        source,
    }
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
