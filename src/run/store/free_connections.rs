use super::connect::{CONNECT, Server};
use super::error::StoreError;
use super::numbers::unsigned;
use lockstorm_data::scenario::DatabaseSpec;

/// How many connections a server can still give to an ordinary user, including the one that asks.
const FREE: &str = "SELECT current_setting('max_connections')::bigint
        - current_setting('superuser_reserved_connections')::bigint
        - count(*) + 1
    FROM pg_stat_activity WHERE backend_type = 'client backend'";

/// How many connections the database can still give; `None` if there is no limit, as with SQLite.
///
/// # Errors
/// The database can't be reached, or does not answer.
pub async fn free_connections(spec: &DatabaseSpec) -> Result<Option<u64>, StoreError> {
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
