use std::str::FromStr;

use sqlx::any::{AnyConnectOptions, install_default_drivers};
use sqlx::{ConnectOptions, Connection};

use super::{StoreError, unsigned};
use crate::scenario::DatabaseSpec;

/// Connections that a server still has to give to an ordinary user, the one that asks included.
const FREE: &str = "SELECT current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint
        - count(*) + 1
    FROM pg_stat_activity WHERE backend_type = 'client backend'";

/// How many connections the database has left to give; none where there is no bound, as with SQLite.
///
/// # Errors
/// The database can't be reached.
pub async fn room(spec: &DatabaseSpec) -> Result<Option<u64>, StoreError> {
    if spec.url.is_sqlite() {
        return Ok(None);
    }
    install_default_drivers();
    let free = async {
        let mut connection = AnyConnectOptions::from_str(spec.url.reveal())?
            .disable_statement_logging()
            .connect()
            .await?;
        let free: i64 = sqlx::query_scalar(FREE).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(free)
    };
    let place = || "PostgreSQL".to_owned();
    let free = free
        .await
        .map_err(|source| StoreError::Open { place: place(), source })?;
    Ok(Some(unsigned(free.max(0))))
}
