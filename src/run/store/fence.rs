//! The fence of a product: a counter for new tokens, and the newest token that the stock has accepted. A holder whose lock
//! was lost is refused as soon as a newer holder has shown its token.

use std::time::Duration;

use sqlx::Any;
use sqlx::any::AnyArguments;
use sqlx::query::QueryScalar;

use super::error::StoreError;
use super::numbers::{signed, unsigned};
use super::statements::{Mark, Store, sale};

/// What a holder shows to the stock. Of two holders with the same number, the one that is accepted first wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Larger for each new token.
    pub number: u64,
    /// The worker that drew it.
    pub owner: &'a str,
}

const DRAW: &str = "UPDATE stock SET drawn = drawn + 1 WHERE product = $1 RETURNING drawn";
const READ: &str = "UPDATE stock SET token = $2, holder = $3
    WHERE product = $1 AND (token < $2 OR (token = $2 AND holder = $3)) RETURNING units";
const SELL: &str = "UPDATE stock SET units = $2, buyer = $3, at_us = $4, measured = $5, token = $6, holder = $7
    WHERE product = $1 AND (token < $6 OR (token = $6 AND holder = $7))";

impl Store {
    /// Draws the number of the next token of a product, which is larger than all before it. To be called under the lock.
    ///
    /// # Errors
    /// The database failed, or has no such product.
    pub async fn draw_token(&self, product: u64) -> Result<u64, StoreError> {
        let drawn = updated(sqlx::query_scalar(DRAW).bind(signed(product)), &self.pool).await?;
        drawn.ok_or(StoreError::NoProduct(product))
    }

    /// Units left of a product at the start of the `service` time, for the holder of `token`. The same statement makes the
    /// stock accept the token, so older holders can't write any more.
    ///
    /// # Errors
    /// The stock has accepted a newer token; the database failed, or has no such product.
    pub async fn units_fenced(&self, product: u64, token: Token<'_>, service: Duration) -> Result<u64, StoreError> {
        let mut connection = self.pool.acquire().await?;
        let read = sqlx::query_scalar(READ)
            .bind(signed(product))
            .bind(signed(token.number))
            .bind(token.owner);
        let Some(units) = updated(read, &mut *connection).await? else {
            drop(connection);
            return Err(self.refusal(product, token).await);
        };
        self.spend(service).await;
        Ok(units)
    }

    /// Writes the units `left` of a product and appends the order, if the stock accepts the token: one statement, one
    /// transaction.
    ///
    /// # Errors
    /// The stock has accepted a newer token; the database failed, or has no such product. Nothing is written then.
    pub async fn sell_fenced(
        &self,
        product: u64,
        left: u64,
        token: Token<'_>,
        mark: Mark<'_>,
    ) -> Result<(), StoreError> {
        let result = sale(SELL, product, left, mark)
            .bind(signed(token.number))
            .bind(token.owner)
            .execute(&self.pool)
            .await?;
        if result.rows_affected() == 0 {
            return Err(self.refusal(product, token).await);
        }
        Ok(())
    }

    /// Why no row matched: the fence, unless there is no such product.
    async fn refusal(&self, product: u64, token: Token<'_>) -> StoreError {
        let fenced = |_| StoreError::Fenced {
            product,
            token: token.number,
            owner: token.owner.to_owned(),
        };
        self.units(product, Duration::ZERO)
            .await
            .map_or_else(|error| error, fenced)
    }
}

/// The number that an update returns; `None` if no row matched. The result is read to its end, because SQLite commits only
/// there: otherwise the caller would go on before others see the update.
async fn updated<'a>(
    update: QueryScalar<'a, Any, i64, AnyArguments>,
    on: impl sqlx::Executor<'_, Database = Any>,
) -> Result<Option<u64>, sqlx::Error> {
    Ok(update.fetch_all(on).await?.pop().map(unsigned))
}
