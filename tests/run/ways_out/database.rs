//! What a cell does to a run's database, and what it checks there.

use std::path::Path;

use lockstorm_kit::runtime;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection, raw_sql};
use tokio::runtime::Runtime;

/// A lock on the first arm's tables, which is held until it is dropped.
pub struct Locked {
    _session: Session,
    _runtime: Runtime,
}

enum Session {
    Sqlite(#[allow(dead_code)] SqliteConnection), // kept open
    Postgres(#[allow(dead_code)] PgConnection),   // kept open
}

/// Locks the tables of the run in this directory, so that nobody can write (on PostgreSQL: nor read) there.
pub fn lock(run: &Path, postgres: Option<&str>) -> Result<Locked, sqlx::Error> {
    let runtime = runtime();
    let session = runtime.block_on(async {
        Ok::<_, sqlx::Error>(match postgres {
            None => {
                let options = SqliteConnectOptions::new()
                    .filename(run.join("arm-0.sqlite"))
                    .busy_timeout(super::TEST_TIMEOUT);
                let mut session = SqliteConnection::connect_with(&options).await?;
                raw_sql("BEGIN EXCLUSIVE").execute(&mut session).await?;
                Session::Sqlite(session)
            }
            Some(url) => {
                let mut session = PgConnection::connect(url).await?;
                let schema = format!("{}_0", schema(run));
                let lock = format!("BEGIN; LOCK TABLE {schema}.stock, {schema}.orders IN ACCESS EXCLUSIVE MODE");
                raw_sql(AssertSqlSafe(lock)).execute(&mut session).await?;
                Session::Postgres(session)
            }
        })
    })?;
    Ok(Locked {
        _session: session,
        _runtime: runtime,
    })
}

/// The schemas of this run that still exist.
pub fn schemas(url: &str, run: &Path) -> Result<Vec<String>, sqlx::Error> {
    runtime().block_on(async {
        let mut session = PgConnection::connect(url).await?;
        sqlx::query_scalar(
            "SELECT CAST(nspname AS text) FROM pg_namespace WHERE starts_with(CAST(nspname AS text), $1)",
        )
        .bind(schema(run))
        .fetch_all(&mut session)
        .await
    })
}

/// The prefix of the names of a run's schemas.
fn schema(run: &Path) -> String {
    let id = run.file_name().unwrap_or_default().to_string_lossy();
    format!("lockstorm_{}", id.replace('-', "_"))
}
