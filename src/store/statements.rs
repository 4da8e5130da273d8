use std::time::Duration;

use sqlx::AnyPool;

use super::{StoreError, signed, unsigned};

/// What the catalogue holds for a key.
pub type Value = String;

const PROVIDE: &str = "SELECT value FROM catalogue WHERE cache = $1 AND key = $2 AND page = $3";
const UNITS: &str = "SELECT units FROM stock WHERE product = $1";
const SELL: &str = "UPDATE stock SET units = $2, buyer = $3 WHERE product = $1";
const SELL_ONE: &str = "UPDATE stock SET units = units - 1, buyer = $2 WHERE product = $1 AND units > 0";
const APPEND: &str = "INSERT INTO orders (product, buyer) VALUES ($1, $2)";
const ORDERS_SINCE: &str = "SELECT product, COUNT(*), MAX(id) FROM orders WHERE id > $1 GROUP BY product";
const ORDERS: &str = "SELECT product, COUNT(*) FROM orders GROUP BY product ORDER BY product";
const STOCK: &str = "SELECT product, units FROM stock ORDER BY product";

/// A pool of connections to the tables of one arm, of one app server.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) pool: AnyPool,
}

impl Store {
    pub(super) const fn new(pool: AnyPool) -> Self {
        Self { pool }
    }

    /// The provider behind a cache: reads the value of `key`, or one `page` (from 1) of its list, and holds its connection
    /// for the `service` time as a real query would. Waits for a free connection first: a stampede queues here.
    ///
    /// # Errors
    /// The database failed, or has no such value.
    pub async fn provide(
        &self,
        cache: &str,
        key: u64,
        page: Option<u32>,
        service: Duration,
    ) -> Result<Value, StoreError> {
        let mut connection = self.pool.acquire().await?;
        let found = sqlx::query_scalar(PROVIDE)
            .bind(cache)
            .bind(signed(key))
            .bind(i64::from(page.unwrap_or(0)))
            .fetch_optional(&mut *connection)
            .await?;
        pass(service).await;
        found.ok_or_else(|| StoreError::Missing(format!("value for key {key} of {cache}")))
    }

    /// Units left of a product, as they were at the start of the `service` time.
    ///
    /// # Errors
    /// The database failed, or has no such product.
    pub async fn units(&self, product: u64, service: Duration) -> Result<u64, StoreError> {
        let mut connection = self.pool.acquire().await?;
        let units = sqlx::query_scalar(UNITS)
            .bind(signed(product))
            .fetch_optional(&mut *connection)
            .await?;
        pass(service).await;
        units.map(unsigned).ok_or_else(|| no_product(product))
    }

    /// Writes the units `left` of a product and appends the order of `by`: one statement, one transaction.
    ///
    /// # Errors
    /// The database failed, or has no such product. Nothing is written then.
    pub async fn sell(&self, product: u64, left: u64, by: &str) -> Result<(), StoreError> {
        let result = sqlx::query(SELL)
            .bind(signed(product))
            .bind(signed(left))
            .bind(by)
            .execute(&self.pool)
            .await?;
        if result.rows_affected() == 0 {
            return Err(no_product(product));
        }
        Ok(())
    }

    /// Sells one unit if there is one, order included, in one statement; whether it did.
    ///
    /// # Errors
    /// The database failed; nothing is written then.
    pub async fn sell_one(&self, product: u64, by: &str) -> Result<bool, StoreError> {
        let result = sqlx::query(SELL_ONE)
            .bind(signed(product))
            .bind(by)
            .execute(&self.pool)
            .await?;
        Ok(result.rows_affected() > 0)
    }

    /// Appends an order without touching the stock: for stock that lives elsewhere.
    ///
    /// # Errors
    /// The database failed.
    pub async fn append_order(&self, product: u64, by: &str) -> Result<(), StoreError> {
        sqlx::query(APPEND)
            .bind(signed(product))
            .bind(by)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The orders after `last_id` (0: from the start), counted per product, and the id to go on from. No order is ever
    /// missed or counted twice: ids appear in their order.
    ///
    /// # Errors
    /// The database failed.
    pub async fn orders_since(&self, last_id: i64) -> Result<(i64, Vec<(u64, u64)>), StoreError> {
        let rows: Vec<(i64, i64, i64)> = sqlx::query_as(ORDERS_SINCE).bind(last_id).fetch_all(&self.pool).await?;
        let newest = rows.iter().map(|row| row.2).max().unwrap_or(last_id);
        Ok((
            newest,
            rows.into_iter()
                .map(|(product, orders, _)| (unsigned(product), unsigned(orders)))
                .collect(),
        ))
    }

    /// The whole ledger: orders per product, by product; products without an order are left out.
    ///
    /// # Errors
    /// The database failed.
    pub async fn orders(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        self.pairs(ORDERS).await
    }

    /// Units left per product, by product.
    ///
    /// # Errors
    /// The database failed.
    pub async fn stock(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        self.pairs(STOCK).await
    }

    async fn pairs(&self, statement: &'static str) -> Result<Vec<(u64, u64)>, StoreError> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(statement).fetch_all(&self.pool).await?;
        Ok(rows
            .into_iter()
            .map(|(product, n)| (unsigned(product), unsigned(n)))
            .collect())
    }
}

pub(super) fn no_product(product: u64) -> StoreError {
    StoreError::Missing(format!("product {product}"))
}

/// The service time; none at all must not cost the timer's millisecond.
pub(super) async fn pass(service: Duration) {
    if !service.is_zero() {
        tokio::time::sleep(service).await;
    }
}
