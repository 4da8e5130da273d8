//! Schemas in a PostgreSQL server that is not ours: marked as made by lockstorm, locked while their run lives, and dropped by
//! the next run if theirs was killed or could not drop them.

use std::sync::Mutex;
use std::time::Duration;

use sqlx::{AnyConnection, AssertSqlSafe, Error, raw_sql};

use super::StoreError;
use super::connect::{CONNECT, Server};

/// The comment on each schema of ours. Nothing without it is ever dropped.
const MARK: &str = "made by lockstorm for one run; safe to drop when it is over";

/// Schemas of ours, whoever made them.
const MARKED: &str = "SELECT CAST(nspname AS text) FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = $1";

/// An advisory lock belongs to a session, so it ends with the process, however that ends. The first number keeps ours apart
/// from the locks of other programs.
const LOCK: &str = "SELECT pg_try_advisory_lock(1819239275, hashtext($1))";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1819239275, hashtext($1))";

/// A schema is dropped only when nobody uses it, so whoever still does is not waited for long.
const NO_LONG_WAIT: &str = "SET lock_timeout TO '2s'";

/// How long all that killed runs left may take to go. What is left then is for the next run.
const SWEEP: Duration = Duration::from_secs(10);

/// Keeps a schema from being swept for as long as it lives.
#[derive(Debug)]
pub struct SchemaLock {
    /// Never used again, only kept open. A mutex because connections can't be shared between threads, but databases of arms are.
    _session: Mutex<AnyConnection>,
}

/// Sweeps away what killed runs left, and makes a schema. Its name must be letters, digits and underscores.
pub async fn make(server: &Server, schema: &str) -> Result<SchemaLock, StoreError> {
    // What can't be dropped (somebody uses it, or it is another user's) is no reason not to start.
    if let Err(error) = server.briefly(SWEEP, sweep).await {
        tracing::warn!(%error, "schemas that earlier runs left were not dropped");
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

/// Drops a schema with all that is in it.
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
        // Our names need no quotes; a marked schema that was renamed to one that does is its owner's affair.
        let plain = schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain && lock(session, &schema).await? {
            if let Err(error) = drop_in(session, &schema).await {
                tracing::warn!(%error, schema, "a schema that an earlier run left was not dropped");
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
    // Two runs may sweep at once.
    let drop = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    raw_sql(AssertSqlSafe(drop)).execute(session).await?;
    Ok(())
}
