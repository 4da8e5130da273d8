use super::connect::{CONNECT, Server};
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
/// The database can't be reached, or does not answer.
pub async fn room(spec: &DatabaseSpec) -> Result<Option<u64>, StoreError> {
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
