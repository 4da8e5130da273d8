use std::ops::Range;
use std::time::Duration;

use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyPool, Transaction};

use super::error::StoreError;
use super::numbers::{signed, unsigned};
use lockstorm_base::timer::Timer;

const PROVIDE: &str = "SELECT value FROM catalogue WHERE cache = $1 AND key = $2 AND page = $3";
const UNITS: &str = "SELECT units FROM stock WHERE product = $1";
const LOCK_ROW: &str = "SELECT units FROM stock WHERE product = $1 FOR UPDATE";
const SELL: &str = "UPDATE stock SET units = $2, buyer = $3, at_us = $4, measured = $5 WHERE product = $1";
const SELL_ONE: &str = "UPDATE stock SET units = units - 1, buyer = $2, at_us = $3, measured = $4
    WHERE product = $1 AND units > 0";
const PAY: &str = "UPDATE stock SET units = CASE product WHEN $1 THEN $2 ELSE $4 END, at_us = $5, measured = $6,
    buyer = CASE product WHEN $1 THEN $7 ELSE $8 END WHERE product IN ($1, $3)";
const ORDERS_SINCE: &str = "SELECT id, product, units, at_us, measured, buyer FROM orders WHERE id > $1 ORDER BY id
    LIMIT $2";
const UNCRASHED: &str = "SELECT COUNT(*) FROM uncrashed";
const STOCK_OTHER_THAN: &str = "SELECT product, units FROM stock WHERE product >= $1 AND product < $2 AND units <> $3
    ORDER BY product";

/// The fields of an order besides its product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The buyer: app server and worker, `s1w3`.
    pub buyer: &'a str,
    /// Whether this machine held up the sale until its lock had expired.
    pub stalled: bool,
    /// When the sale was sent, in microseconds since second 0 of the run; negative before it.
    pub at_us: i64,
    /// Whether the request belongs to the measured part of the run.
    pub measured: bool,
}

/// Ends the name of a buyer whose sale was stalled.
const STALLED: char = '!';
/// Ends the name of a payer in the order that adds to the payee's money, before that.
const ADDED: char = '+';

impl Mark<'_> {
    /// The buyer, as an order names it.
    pub fn name(&self) -> String {
        let mut name = self.buyer.to_owned();
        if self.stalled {
            name.push(STALLED);
        }
        name
    }
}

/// An order of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Larger for each order.
    pub id: i64,
    /// The product, from 0.
    pub product: u64,
    /// The units that the sale left.
    pub units: u64,
    /// As in [`Mark`].
    pub at_us: i64,
    /// As in [`Mark`].
    pub measured: bool,
    /// As [`Mark::name`] made it.
    pub buyer: String,
}

impl Order {
    /// As in [`Mark`].
    pub fn is_stalled(&self) -> bool {
        self.buyer.ends_with(STALLED)
    }

    /// Whether it adds a unit, and does not take one off.
    pub fn is_added(&self) -> bool {
        self.buyer.trim_end_matches(STALLED).ends_with(ADDED)
    }

    /// Its buyer's name, without that.
    pub fn worker(&self) -> &str {
        self.buyer.trim_end_matches([STALLED, ADDED])
    }
}

/// A pool of connections to the tables of one arm, of one app server.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) pool: AnyPool,
    timer: Timer,
}

/// The row of a product, locked by a transaction. If this is dropped, nothing is written.
#[derive(Debug)]
pub struct LockedRow {
    transaction: Transaction<'static, Any>,
    units: u64,
}

impl LockedRow {
    /// Units left.
    pub const fn units(&self) -> u64 {
        self.units
    }

    /// Writes the units `left` and appends the order, and commits both.
    ///
    /// # Errors
    /// The database failed. If its connection was lost, nobody knows whether it was written.
    pub async fn sell(mut self, product: u64, left: u64, mark: Mark<'_>) -> Result<(), StoreError> {
        sale(SELL, product, left, mark).execute(&mut *self.transaction).await?;
        Ok(self.transaction.commit().await?)
    }
}

impl Store {
    pub(super) fn new(pool: AnyPool) -> Self {
        Self {
            pool,
            timer: Timer::default(),
        }
    }

    /// Sets the timer for service times.
    #[must_use]
    pub fn timed_by(self, timer: Timer) -> Self {
        Self { timer, ..self }
    }

    /// Lets a service time pass.
    pub(super) async fn spend(&self, service: Duration) {
        self.timer.sleep(service).await;
    }

    /// The provider behind a cache: reads the value of `key`, or one `page` (from 1) of its list. It holds its connection
    /// for the `service` time, as a real query would. It first waits for a free connection, so a stampede queues here.
    ///
    /// # Errors
    /// The database failed, or has no such value.
    pub async fn provide(
        &self,
        cache: &str,
        key: u64,
        page: Option<u32>,
        service: Duration,
    ) -> Result<String, StoreError> {
        let mut connection = self.pool.acquire().await?;
        let found = sqlx::query_scalar(PROVIDE)
            .bind(cache)
            .bind(signed(key))
            .bind(i64::from(page.unwrap_or(0)))
            .fetch_optional(&mut *connection)
            .await?;
        self.spend(service).await;
        found.ok_or_else(|| StoreError::NoValue {
            key,
            cache: cache.to_owned(),
        })
    }

    /// Units left of a product at the start of the `service` time.
    ///
    /// # Errors
    /// The database failed, or has no such product.
    pub async fn units(&self, product: u64, service: Duration) -> Result<u64, StoreError> {
        let mut connection = self.pool.acquire().await?;
        let units = sqlx::query_scalar(UNITS)
            .bind(signed(product))
            .fetch_optional(&mut *connection)
            .await?;
        self.spend(service).await;
        units.map(unsigned).ok_or(StoreError::NoProduct(product))
    }

    /// Writes the units `left` of a product and appends the order: one statement, one transaction.
    ///
    /// # Errors
    /// The database failed, or has no such product. Nothing is written then.
    pub async fn sell(&self, product: u64, left: u64, mark: Mark<'_>) -> Result<(), StoreError> {
        let result = sale(SELL, product, left, mark).execute(&self.pool).await?;
        if result.rows_affected() == 0 {
            return Err(StoreError::NoProduct(product));
        }
        Ok(())
    }

    /// Locks the row of a product, which must be PostgreSQL's, and reads its units at the start of the `service` time. It keeps its
    /// connection while it waits, and until the sale.
    ///
    /// # Errors
    /// The database failed, or has no such product.
    pub async fn lock_row(&self, product: u64, service: Duration) -> Result<LockedRow, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let units = sqlx::query_scalar(LOCK_ROW)
            .bind(signed(product))
            .fetch_optional(&mut *transaction)
            .await?;
        self.spend(service).await;
        let units = units.map(unsigned).ok_or(StoreError::NoProduct(product))?;
        Ok(LockedRow { transaction, units })
    }

    /// Sells one unit if there is one, including the order, in one statement. Returns whether it did.
    ///
    /// # Errors
    /// The database failed; nothing is written then.
    pub async fn sell_one(&self, product: u64, mark: Mark<'_>) -> Result<bool, StoreError> {
        let result = sqlx::query(SELL_ONE)
            .bind(signed(product))
            .bind(mark.name())
            .bind(mark.at_us)
            .bind(i64::from(mark.measured))
            .execute(&self.pool)
            .await?;
        Ok(result.rows_affected() > 0)
    }

    /// Writes what a payment leaves on the accounts of payer and payee, and appends both orders: one statement, one transaction.
    ///
    /// # Errors
    /// The database failed, and nothing is written, or it lacks an account.
    pub async fn pay(&self, payer: (u64, u64), payee: (u64, u64), mark: Mark<'_>) -> Result<(), StoreError> {
        let added = format!("{}{ADDED}", mark.buyer);
        let to_payee = Mark { buyer: &added, ..mark };
        let result = sqlx::query(PAY)
            .bind(signed(payer.0))
            .bind(signed(payer.1))
            .bind(signed(payee.0))
            .bind(signed(payee.1))
            .bind(mark.at_us)
            .bind(i64::from(mark.measured))
            .bind(mark.name())
            .bind(to_payee.name())
            .execute(&self.pool)
            .await?;
        if result.rows_affected() < 2 {
            return Err(StoreError::NoProduct(payer.0));
        }
        Ok(())
    }

    /// The orders after `last_id` (0: from the start), in order, at most `most` of them. No order is ever missed or read
    /// twice, because ids appear in order.
    ///
    /// # Errors
    /// The database failed.
    pub async fn orders_since(&self, last_id: i64, most: u32) -> Result<Vec<Order>, StoreError> {
        let rows: Vec<(i64, i64, i64, i64, i64, String)> = sqlx::query_as(ORDERS_SINCE)
            .bind(last_id)
            .bind(i64::from(most))
            .fetch_all(&self.pool)
            .await?;
        let order = |(id, product, units, at_us, measured, buyer)| Order {
            id,
            product: unsigned(product),
            units: unsigned(units),
            at_us,
            measured: measured != 0,
            buyer,
        };
        Ok(rows.into_iter().map(order).collect())
    }

    /// Whether the server has crashed and started again since the tables were made. It may have forgotten its last sales then,
    /// so nothing that was read before this was asked proves anything.
    ///
    /// # Errors
    /// The database failed.
    pub async fn has_crashed(&self) -> Result<bool, StoreError> {
        let rows: i64 = sqlx::query_scalar(UNCRASHED).fetch_one(&self.pool).await?;
        Ok(rows == 0)
    }

    /// Those of the products that don't have this number of units, with the units that they have: a run sells only a few
    /// of a million products.
    ///
    /// # Errors
    /// The database failed.
    pub async fn stock_other_than(&self, units: u64, products: Range<u64>) -> Result<Vec<(u64, u64)>, StoreError> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(STOCK_OTHER_THAN)
            .bind(signed(products.start))
            .bind(signed(products.end))
            .bind(signed(units))
            .fetch_all(&self.pool)
            .await?;
        let pair = |(product, units)| (unsigned(product), unsigned(units));
        Ok(rows.into_iter().map(pair).collect())
    }
}

/// A sale by a statement that takes product, units left and the mark.
pub(super) fn sale<'a>(
    statement: &'static str,
    product: u64,
    left: u64,
    mark: Mark<'_>,
) -> Query<'a, Any, AnyArguments> {
    sqlx::query(statement)
        .bind(signed(product))
        .bind(signed(left))
        .bind(mark.name())
        .bind(mark.at_us)
        .bind(i64::from(mark.measured))
}
