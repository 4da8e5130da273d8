//! The tables, and the settings of a session. Apart from these, every statement is the same for both databases.
//!
//! A sale is **one statement**: it writes a stock's units, and a trigger appends the order. So it is one transaction that
//! is sent in one message. An app server that is killed can't leave half of it behind, which would look like damage by the
//! lock, and one that is paused can't hold the database's write lock with an open transaction.
//!
//! The fence is in the rows of the stock too (`drawn`, `token`, `holder`), so that its check is part of the statement that
//! it guards. Statements that don't change the units append no order.
//!
//! Sessions don't wait for the disk, so a PostgreSQL that crashes and starts again has forgotten its last sales, and what is
//! sold from then on would look like damage by the lock. A crash empties unlogged tables, so the row in `uncrashed` tells.
//!
//! An order notes the units that its sale left. Of two successive orders the second must leave one unit less than the
//! first; otherwise it has overwritten the sales in between. So the ledger alone shows each lost update, with its time.

use sqlx::{AnyConnection, AssertSqlSafe, raw_sql};

use super::numbers::signed;
use super::schema_name::SchemaName;
use lockstorm_data::scenario::Initial;

/// SQLite: one file; `id` is the rowid, so it grows with each order.
pub const SQLITE_TABLES: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE catalogue (
        cache TEXT NOT NULL, key BIGINT NOT NULL, page BIGINT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (cache, key, page)
    ) WITHOUT ROWID;
    CREATE TABLE stock (
        product INTEGER PRIMARY KEY, units BIGINT NOT NULL CHECK (units >= 0),
        buyer TEXT NOT NULL, at_us BIGINT NOT NULL DEFAULT 0, measured BIGINT NOT NULL DEFAULT 0,
        drawn BIGINT NOT NULL DEFAULT 0, token BIGINT NOT NULL DEFAULT 0, holder TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, product BIGINT NOT NULL, units BIGINT NOT NULL,
        buyer TEXT NOT NULL, at_us BIGINT NOT NULL, measured BIGINT NOT NULL
    );
    CREATE TRIGGER sale AFTER UPDATE OF units ON stock BEGIN
        INSERT INTO orders (product, units, buyer, at_us, measured)
        VALUES (NEW.product, NEW.units, NEW.buyer, NEW.at_us, NEW.measured);
    END;
    CREATE TABLE uncrashed (since BIGINT NOT NULL)";

/// SQLite: a session does not sync (that would matter only after a power loss), and waits for its turn to write.
pub const SQLITE_SESSION: &str = "PRAGMA synchronous = OFF; PRAGMA busy_timeout = 60000";

/// PostgreSQL: in the schema of the session. Orders get their numbers one transaction at a time (the lock is held until
/// its end), so a lower number never appears after a higher one, and the ledger can be read from any point on. The session
/// that makes the tables waits for the disk, so that a crash leaves them.
pub const POSTGRES_TABLES: &str = "
    SET synchronous_commit TO on;
    CREATE TABLE catalogue (
        cache TEXT NOT NULL, key BIGINT NOT NULL, page BIGINT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (cache, key, page)
    );
    CREATE TABLE stock (
        product BIGINT PRIMARY KEY, units BIGINT NOT NULL CHECK (units >= 0),
        buyer TEXT NOT NULL, at_us BIGINT NOT NULL DEFAULT 0, measured BIGINT NOT NULL DEFAULT 0,
        drawn BIGINT NOT NULL DEFAULT 0, token BIGINT NOT NULL DEFAULT 0, holder TEXT NOT NULL DEFAULT ''
    ) WITH (fillfactor = 50);
    CREATE SEQUENCE order_ids;
    CREATE TABLE orders (
        id BIGINT PRIMARY KEY, product BIGINT NOT NULL, units BIGINT NOT NULL,
        buyer TEXT NOT NULL, at_us BIGINT NOT NULL, measured BIGINT NOT NULL
    );
    CREATE FUNCTION number_order() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(TG_RELID::bigint);
        NEW.id := nextval('order_ids');
        RETURN NEW;
    END $$;
    CREATE TRIGGER number_order BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION number_order();
    CREATE FUNCTION sale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO orders (product, units, buyer, at_us, measured)
        VALUES (NEW.product, NEW.units, NEW.buyer, NEW.at_us, NEW.measured);
        RETURN NULL;
    END $$;
    CREATE TRIGGER sale AFTER UPDATE OF units ON stock FOR EACH ROW EXECUTE FUNCTION sale();
    CREATE UNLOGGED TABLE uncrashed (since BIGINT NOT NULL)";

/// PostgreSQL: a session works in the schema of its arm, does not wait for the disk, and reads committed data. It finds rows by their index
/// only, in its order: two payments that write the same two rows would otherwise lock them in the order in which these lie there, which
/// differs from one to the other, and wait for each other.
pub fn postgres_session(schema: &SchemaName) -> String {
    format!(
        "SET search_path TO {schema};
         SET synchronous_commit TO off;
         SET enable_seqscan TO off;
         SET enable_bitmapscan TO off;
         SET default_transaction_isolation TO 'read committed'"
    )
}

/// A table `name` of the numbers from `from` to `to - 1`.
fn numbers(name: &str, from: &str, to: &str) -> String {
    format!(
        "{name}(i) AS (SELECT CAST({from} AS BIGINT) WHERE {from} < CAST({to} AS BIGINT) UNION ALL SELECT i + 1 FROM {name} \
         WHERE i + 1 < CAST({to} AS BIGINT))"
    )
}

/// Creates the tables and fills them.
pub async fn build(connection: &mut AnyConnection, tables: &'static str, initial: &Initial) -> Result<(), sqlx::Error> {
    raw_sql(tables).execute(&mut *connection).await?;
    let fill_stock = format!(
        "WITH RECURSIVE {} INSERT INTO stock (product, units, buyer) SELECT p.i, CAST($2 AS BIGINT), '' FROM p",
        numbers("p", "0", "$1")
    );
    sqlx::query(AssertSqlSafe(fill_stock))
        .bind(signed(initial.products))
        .bind(signed(initial.stock))
        .execute(&mut *connection)
        .await?;
    sqlx::query("INSERT INTO uncrashed (since) VALUES (0)")
        .execute(&mut *connection)
        .await?;
    let fill_catalogue = format!(
        "WITH RECURSIVE {}, {} INSERT INTO catalogue (cache, key, page, value) \
         SELECT $1, k.i, p.i, $1 || ' ' || k.i || '.' || p.i FROM k CROSS JOIN p",
        numbers("k", "0", "$2"),
        numbers("p", "CAST($3 AS BIGINT)", "$4")
    );
    for rows in &initial.catalogue {
        // An object is page 0; the pages of a list are counted from 1.
        let (first, end) = rows.pages.map_or((0, 1), |pages| (1, i64::from(pages) + 1));
        sqlx::query(AssertSqlSafe(fill_catalogue.clone()))
            .bind(rows.cache.as_str())
            .bind(signed(rows.keys))
            .bind(first)
            .bind(end)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
