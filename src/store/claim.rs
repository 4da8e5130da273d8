//! Schemas in a PostgreSQL that is not ours: marked as made by lockstorm, claimed for as long as their run lives, and swept
//! away by the next run if theirs was killed.

use std::sync::Mutex;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, AssertSqlSafe, ConnectOptions, Connection, Error, raw_sql};

/// The comment on each schema of ours. Nothing without it is ever dropped.
const MARK: &str = "made by lockstorm for one run; safe to drop when it is over";

/// Schemas of ours, whoever made them.
const MARKED: &str = "SELECT CAST(nspname AS text) FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = $1";

/// A claim is an advisory lock of a session, so it ends with the process, however that ends. The first number keeps it
/// apart from the locks of others.
const CLAIM: &str = "SELECT pg_try_advisory_lock(1819239275, hashtext($1))";
const UNCLAIM: &str = "SELECT pg_advisory_unlock(1819239275, hashtext($1))";

/// Keeps a schema from being swept for as long as it lives.
#[derive(Debug)]
pub struct Claim {
    /// Never used again, only kept open. A mutex because connections can't be shared between threads, but places are.
    _session: Mutex<AnyConnection>,
}

/// Sweeps away what killed runs left, and makes a schema. Its name must be letters, digits and underscores.
pub async fn make(options: &AnyConnectOptions, schema: &str) -> Result<Claim, Error> {
    let mut session = options.connect().await?;
    sweep(&mut session).await?;
    // Claimed before it is there: it is never there and unclaimed.
    claim(&mut session, schema).await?;
    let make = format!("CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{MARK}'");
    raw_sql(AssertSqlSafe(make)).execute(&mut session).await?;
    Ok(Claim {
        _session: Mutex::new(session),
    })
}

/// Drops a schema with all that is in it.
pub async fn drop_schema(options: &AnyConnectOptions, schema: &str) -> Result<(), Error> {
    let mut session = options.connect().await?;
    drop_in(&mut session, schema).await?;
    session.close().await
}

async fn sweep(session: &mut AnyConnection) -> Result<(), Error> {
    let marked: Vec<String> = sqlx::query_scalar(MARKED).bind(MARK).fetch_all(&mut *session).await?;
    for schema in marked {
        // Our names need no quotes; a marked schema that was renamed to one that does is its owner's affair.
        let plain = schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain && claim(session, &schema).await? {
            drop_in(session, &schema).await?;
            sqlx::query(UNCLAIM).bind(&schema).execute(&mut *session).await?;
        }
    }
    Ok(())
}

async fn claim(session: &mut AnyConnection, schema: &str) -> Result<bool, Error> {
    sqlx::query_scalar(CLAIM).bind(schema).fetch_one(session).await
}

async fn drop_in(session: &mut AnyConnection, schema: &str) -> Result<(), Error> {
    // Two runs may sweep at once.
    let drop = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    raw_sql(AssertSqlSafe(drop)).execute(session).await?;
    Ok(())
}
