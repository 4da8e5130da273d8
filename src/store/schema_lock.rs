//! Our schemas in a shared PostgreSQL server. They are marked as made by lockstorm and locked while their run is alive. If
//! that run is killed or can't drop them, the next run does.

use std::sync::Mutex;
use std::time::Duration;

use sqlx::{AnyConnection, AssertSqlSafe, Error, raw_sql};

use super::StoreError;
use super::connect::{CONNECT, Server};

/// The comment on each of our schemas. A schema without it is never dropped.
const MARK: &str = "made by lockstorm for one run; safe to drop when it is over";

/// Our schemas, of all runs.
const MARKED: &str = "SELECT CAST(nspname AS text) FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = $1";

/// An advisory lock belongs to a session, so it ends with the process in any case. The first number separates our locks
/// from those of other programs.
const LOCK: &str = "SELECT pg_try_advisory_lock(1819239275, hashtext($1))";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1819239275, hashtext($1))";

/// A schema is dropped only when nobody uses it. This limits the wait for somebody who still does.
const NO_LONG_WAIT: &str = "SET lock_timeout TO '2s'";

/// How long it may take to drop the schemas of all killed runs. What is left then is for the next run.
const SWEEP: Duration = Duration::from_secs(10);

/// Protects a schema from being dropped by other runs, for as long as this lives.
#[derive(Debug)]
pub struct SchemaLock {
    /// Never used again, only kept open. It is in a mutex because a connection can't be shared between threads, but an
    /// arm's database is.
    _session: Mutex<AnyConnection>,
}

/// Drops the schemas of killed runs, and creates a new one. Its name must consist of letters, digits and underscores.
pub async fn make(server: &Server, schema: &str) -> Result<SchemaLock, StoreError> {
    // A schema that can't be dropped (it is in use, or another user's) is no reason not to start.
    if let Err(error) = server.briefly(SWEEP, sweep).await {
        tracing::warn!(%error, "the schemas of earlier runs were not dropped");
    }
    let mut session = server.connect().await?;
    let made = async {
        // Locked before it exists, so that it never exists without its lock.
        lock(&mut session, schema).await?;
        let make = format!("CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{MARK}'");
        raw_sql(AssertSqlSafe(make)).execute(&mut session).await
    };
    server.within(CONNECT, made).await?;
    Ok(SchemaLock {
        _session: Mutex::new(session),
    })
}

/// Drops a schema with all its contents.
pub async fn drop_schema(server: &Server, schema: &str) -> Result<(), StoreError> {
    let drop = async |session: &mut AnyConnection| {
        raw_sql(NO_LONG_WAIT).execute(&mut *session).await?;
        drop_in(session, schema).await
    };
    server.briefly(CONNECT, drop).await
}

async fn sweep(session: &mut AnyConnection) -> Result<(), Error> {
    raw_sql(NO_LONG_WAIT).execute(&mut *session).await?;
    let marked: Vec<String> = sqlx::query_scalar(MARKED).bind(MARK).fetch_all(&mut *session).await?;
    for schema in marked {
        // Our names need no quotes. If somebody renames a marked schema to a name that does, it is theirs.
        let plain = schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain && lock(session, &schema).await? {
            if let Err(error) = drop_in(session, &schema).await {
                tracing::warn!(%error, schema, "the schema of an earlier run was not dropped");
            }
            sqlx::query(UNLOCK).bind(&schema).execute(&mut *session).await?;
        }
    }
    Ok(())
}

async fn lock(session: &mut AnyConnection, schema: &str) -> Result<bool, Error> {
    sqlx::query_scalar(LOCK).bind(schema).fetch_one(session).await
}

async fn drop_in(session: &mut AnyConnection, schema: &str) -> Result<(), Error> {
    // Two runs may do this at once.
    let drop = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    raw_sql(AssertSqlSafe(drop)).execute(session).await?;
    Ok(())
}
