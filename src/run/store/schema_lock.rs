//! Our schemas in a shared PostgreSQL server. They are marked as made by lockstorm and locked while their run is alive. If
//! that run is killed or can't drop them, the next run does.
//!
//! A schema is dropped only if its name is one that runs give, it belongs to our user, and it has the mark. Others may make
//! schemas in the same database, and may name and mark them as they like; they can't make one that belongs to us.

use std::time::Duration;

use sqlx::{AnyConnection, AssertSqlSafe, Connection, Error, raw_sql};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::connect::{CONNECT, Server};
use super::error::StoreError;
use super::schema_name::SchemaName;

/// The comment on each of our schemas. A schema without it is never dropped.
const MARK: &str = "made by lockstorm for one run; safe to drop when it is over";

/// Our marked schemas, of all runs.
const MARKED: &str = "SELECT CAST(oid AS bigint), CAST(nspname AS text) FROM pg_namespace
    WHERE pg_get_userbyid(nspowner) = CURRENT_USER AND obj_description(oid, 'pg_namespace') = $1";

/// An advisory lock belongs to a session, so it ends with the process in any case. The first number separates our locks
/// from those of other programs. Runs share the lock of a number, because two names may have the same; who drops must have
/// it alone.
const SHARE: &str = "SELECT 1 FROM pg_advisory_lock_shared(1819239275, hashtext($1))";
const LOCK: &str = "SELECT pg_try_advisory_lock(1819239275, hashtext($1))";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1819239275, hashtext($1))";

/// The settings of these sessions. Every function and operator is PostgreSQL's own, whatever others have put where the
/// user's search path leads. A schema is dropped only when nobody uses it, so the wait for somebody who still does is limited.
const SESSION: &str =
    "SET search_path TO pg_catalog, pg_temp; SET lock_timeout TO '2s'; SET application_name TO 'lockstorm: a schema'";

/// The transaction sees the catalogue as it was when it began, and what it has done to it.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

/// How long it may take to drop the schemas of all killed runs. What is left then is for the next run.
const SWEEP: Duration = Duration::from_secs(10);

/// How often it is asked whether the session of a lock is still there.
const LOOKS: Duration = Duration::from_secs(1);

/// Protects a schema from being dropped by other runs, for as long as this lives. If PostgreSQL ends its session, it is locked again
/// within [`LOOKS`] once that answers.
#[derive(Debug)]
pub struct SchemaLock {
    keeping: JoinHandle<()>,
}

impl Drop for SchemaLock {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

/// Drops the schemas of killed runs, and creates a new one.
pub async fn make(server: &Server, schema: &SchemaName) -> Result<SchemaLock, StoreError> {
    // A schema that can't be dropped (it is in use) is no reason not to start.
    if let Err(error) = server.briefly(SWEEP, sweep).await {
        tracing::warn!(%error, "the schemas of earlier runs were not dropped");
    }
    // Locked before it exists, so that it never exists without its lock.
    let mut session = lock(server, schema).await?;
    let made = async {
        let make = format!("CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{MARK}'");
        raw_sql(AssertSqlSafe(make)).execute(&mut session).await
    };
    server.within(CONNECT, made).await?;
    let keeping = tokio::spawn(keep(server.clone(), schema.clone(), session));
    Ok(SchemaLock { keeping })
}

/// A session that shares the lock of the schema.
async fn lock(server: &Server, schema: &SchemaName) -> Result<AnyConnection, StoreError> {
    let mut session = server.connect().await?;
    let locked = async {
        raw_sql(SESSION).execute(&mut session).await?;
        sqlx::query(SHARE).bind(schema.text()).execute(&mut session).await
    };
    server.within(CONNECT, locked).await?;
    Ok(session)
}

/// Locks the schema again whenever its session has ended.
async fn keep(server: Server, schema: SchemaName, mut session: AnyConnection) {
    loop {
        sleep(LOOKS).await;
        if let Ok(Ok(())) = timeout(CONNECT, session.ping()).await {
            continue;
        }
        // A server that stands still keeps the old session, and its lock, until this is dropped.
        match lock(&server, &schema).await {
            Ok(other) => session = other,
            Err(error) => tracing::warn!(%error, %schema, "the schema is not locked"),
        }
    }
}

/// Drops a schema with all its contents, and returns whether it did: it leaves one that is not ours or not marked.
pub async fn drop_schema(server: &Server, schema: &SchemaName) -> Result<bool, StoreError> {
    let drop = async |session: &mut AnyConnection| {
        raw_sql(SESSION).execute(&mut *session).await?;
        drop_in(session, schema).await
    };
    server.briefly(CONNECT, drop).await
}

async fn sweep(session: &mut AnyConnection) -> Result<(), Error> {
    raw_sql(SESSION).execute(&mut *session).await?;
    for (_, schema) in marked(session).await? {
        if sqlx::query_scalar(LOCK)
            .bind(schema.text())
            .fetch_one(&mut *session)
            .await?
        {
            if let Err(error) = drop_in(session, &schema).await {
                tracing::warn!(%error, %schema, "the schema of an earlier run was not dropped");
            }
            sqlx::query(UNLOCK).bind(schema.text()).execute(&mut *session).await?;
        }
    }
    Ok(())
}

/// Our marked schemas, with the numbers by which PostgreSQL knows them.
async fn marked(session: &mut AnyConnection) -> Result<Vec<(i64, SchemaName)>, Error> {
    let found: Vec<(i64, String)> = sqlx::query_as(MARKED).bind(MARK).fetch_all(session).await?;
    let named = |(id, name)| Some((id, SchemaName::read(name)?));
    Ok(found.into_iter().filter_map(named).collect())
}

async fn drop_in(session: &mut AnyConnection, schema: &SchemaName) -> Result<bool, Error> {
    let mut transaction = session.begin_with(BEGIN).await?;
    let ours = marked(&mut transaction).await?;
    let Some(found) = ours.into_iter().find(|(_, name)| name == schema) else {
        return Ok(false);
    };
    let drop = format!("DROP SCHEMA {schema} CASCADE");
    raw_sql(AssertSqlSafe(drop)).execute(&mut *transaction).await?;
    // If somebody has just given the name to another schema, that one was dropped and the one that we found is still there.
    // Then the transaction is rolled back.
    if marked(&mut transaction).await?.contains(&found) {
        return Ok(false);
    }
    transaction.commit().await?;
    Ok(true)
}
