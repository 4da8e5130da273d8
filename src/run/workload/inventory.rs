use std::ops::Range;
use std::sync::LazyLock;

use rand::rngs::SmallRng;
use redis::Script;

use super::cache::{Cache, CacheError};
use super::failed::Failed;
use super::held_locks::Sold;
use super::random::{Choice, draw};
use super::section::Section;
use super::tools::Tools;
use crate::store::{Mark, Order, Token};
use lockstorm_data::metrics::{Count, Counter};
use lockstorm_data::scenario::{Fence, InventorySpec, Ledger, Release, ServiceTime, StockIn, Update};

/// Takes one unit if there is one, and appends the order. Returns 1 if it did, 0 if no unit is left, and nil without the
/// key.
static TAKE_ONE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local units = redis.call('GET', KEYS[1])
         if not units then return nil end
         if tonumber(units) < 1 then return 0 end
         units = redis.call('DECR', KEYS[1])
         redis.call('RPUSH', KEYS[2], ARGV[1] .. ' ' .. units .. ' ' .. ARGV[2])
         return 1",
    )
});

/// Of the products from ARGV[1] to ARGV[2], those that don't have ARGV[3] units, each with its units; −1 if the key is
/// missing.
static NOT_AS_AT_THE_START: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local found = {}
         for product = tonumber(ARGV[1]), tonumber(ARGV[2]) do
             local units = redis.call('GET', string.format('stock:%d', product))
             if units ~= ARGV[3] then
                 found[#found + 1] = { product, tonumber(units or -1) }
             end
         end
         return found",
    )
});

/// The work of `inventory`: read the units left, think, write back one less and append the order.
#[derive(Debug)]
pub struct Inventory {
    pub(super) tools: Tools,
    choice: Choice,
    stock_in: StockIn,
    hold: ServiceTime,
    read: ServiceTime,
}

impl Inventory {
    pub(super) fn new(spec: &InventorySpec, read: ServiceTime, tools: Tools) -> Self {
        Self {
            tools,
            choice: Choice::new(spec.popularity, spec.products),
            stock_in: spec.stock_in,
            hold: spec.hold,
            read,
        }
    }

    /// One request: a customer buys one unit of one product.
    pub(super) async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng, worker: usize) -> Result<(), Failed> {
        let product = self.choice.draw(rng);
        let by = format!("s{}w{worker}", self.tools.server.0);
        let mut section = self
            .tools
            .enter(counter, &InventorySpec::lock_name(product), worker)
            .await?;
        let sold = match self.tools.arm.update {
            Update::ReadWrite => self.read_and_write(product, &by, &mut section, rng).await,
            Update::Atomic => self.update(product, &by, &section, rng).await,
            Update::RowLock => self.update_row(product, &by, &section, rng).await,
        };
        section.leave(&sold).await;
        if !sold? {
            counter.count(Count::SoldOut);
        }
        Ok(())
    }

    /// Writes back one unit less than was read. That is right only if nobody else wrote meanwhile, or if a fence refuses a
    /// stale write.
    async fn read_and_write(
        &self,
        product: u64,
        by: &str,
        section: &mut Section<'_>,
        rng: &mut SmallRng,
    ) -> Result<bool, Failed> {
        let token = self.token(product, by, section).await?;
        let Some(left) = self.units(product, token, rng).await?.checked_sub(1) else {
            return Ok(false);
        };
        self.think(section.counter, rng).await?;
        section.check()?;
        let mark = section.mark(by);
        if self.tools.arm.release == Release::BeforeWrite {
            section.release(&Ok(true)).await;
        }
        match (self.stock_in, token) {
            (StockIn::Database, None) => self.tools.store.sell(product, left, mark).await?,
            (StockIn::Database, Some(token)) => self.tools.store.sell_fenced(product, left, token, mark).await?,
            (StockIn::Redis, _) => {
                let mut sale = redis::pipe();
                sale.atomic();
                sale.cmd("SET").arg(stock_key(product)).arg(left);
                sale.cmd("RPUSH").arg(ORDERS).arg(row(product, left, mark));
                sale.exec_async(&mut self.tools.cache.connection()).await?;
            }
        }
        section.sold(Sold {
            at_us: mark.at_us,
            left,
        });
        Ok(true)
    }

    /// The token that a fenced arm's worker shows to the stock: the lock's, or one that it draws there.
    async fn token<'a>(
        &self,
        product: u64,
        owner: &'a str,
        section: &Section<'_>,
    ) -> Result<Option<Token<'a>>, Failed> {
        if self.tools.arm.fence == Fence::Off {
            return Ok(None);
        }
        let number = match section.fence() {
            Some(number) => number,
            None => self.tools.store.draw_token(product).await?,
        };
        Ok(Some(Token { number, owner }))
    }

    async fn units(&self, product: u64, token: Option<Token<'_>>, rng: &mut SmallRng) -> Result<u64, Failed> {
        let shown = token.filter(|_| self.tools.arm.fence == Fence::ReadWrite);
        match (self.stock_in, shown) {
            (StockIn::Database, None) => Ok(self.tools.store.units(product, draw(self.read, rng)).await?),
            (StockIn::Database, Some(token)) => {
                let service = draw(self.read, rng);
                Ok(self.tools.store.units_fenced(product, token, service).await?)
            }
            (StockIn::Redis, _) => {
                let mut cache = self.tools.cache.connection();
                let units: Option<u64> = redis::cmd("GET")
                    .arg(stock_key(product))
                    .query_async(&mut cache)
                    .await?;
                Ok(units.ok_or(CacheError::NoStock(product))?)
            }
        }
    }

    /// The atomic way: think first, then one conditional statement.
    async fn update(&self, product: u64, by: &str, section: &Section<'_>, rng: &mut SmallRng) -> Result<bool, Failed> {
        self.think(section.counter, rng).await?;
        section.check()?;
        let mark = section.mark(by);
        match self.stock_in {
            StockIn::Database => Ok(self.tools.store.sell_one(product, mark).await?),
            StockIn::Redis => {
                let taken: Option<bool> = TAKE_ONE
                    .key(stock_key(product))
                    .key(ORDERS)
                    .arg(product)
                    .arg(note(mark))
                    .invoke_async(&mut self.tools.cache.connection())
                    .await?;
                Ok(taken.ok_or(CacheError::NoStock(product))?)
            }
        }
    }

    /// The transactional way: whoever reads the row first keeps the others waiting until the sale is committed.
    async fn update_row(
        &self,
        product: u64,
        by: &str,
        section: &Section<'_>,
        rng: &mut SmallRng,
    ) -> Result<bool, Failed> {
        let row = self.tools.store.lock_row(product, draw(self.read, rng)).await?;
        let Some(left) = row.units().checked_sub(1) else {
            return Ok(false);
        };
        self.think(section.counter, rng).await?;
        section.check()?;
        row.sell(product, left, section.mark(by)).await?;
        Ok(true)
    }

    async fn think(&self, counter: Counter<'_>, rng: &mut SmallRng) -> Result<(), Failed> {
        let time = draw(self.tools.live_settings.hold(self.hold), rng);
        self.tools.spend(time, counter).await
    }
}

/// The ledger of an arm whose stock is in Redis: a list beside the stock, so that a sale is one transaction there too.
const ORDERS: &str = "orders";

/// An order as an element of that list: product, units left, and its mark.
fn row(product: u64, left: u64, mark: Mark<'_>) -> String {
    format!("{product} {left} {}", note(mark))
}

fn note(mark: Mark<'_>) -> String {
    format!("{} {} {}", mark.at_us, u8::from(mark.measured), mark.name())
}

/// Parses an element of the list; `id` is its position, from 1.
fn order(id: i64, row: &str) -> Option<Order> {
    let mut parts = row.splitn(5, ' ');
    Some(Order {
        id,
        product: parts.next()?.parse().ok()?,
        units: parts.next()?.parse().ok()?,
        at_us: parts.next()?.parse().ok()?,
        measured: parts.next()? == "1",
        buyer: parts.next()?.to_owned(),
    })
}

fn stock_key(product: u64) -> String {
    format!("stock:{product}")
}

/// Prepares an arm's part of the cache node before the load begins: if the stock is kept there, it sets the stock and
/// clears the orders.
///
/// # Errors
/// The cache node failed.
pub async fn prepare_cache(ledger: &Ledger, cache: &Cache) -> Result<(), CacheError> {
    if ledger.stock_in == StockIn::Redis {
        redis::cmd("DEL")
            .arg(ORDERS)
            .exec_async(&mut cache.connection())
            .await?;
        for products in batches(ledger.products) {
            let mut pairs = redis::cmd("MSET");
            for product in products {
                pairs.arg(stock_key(product)).arg(ledger.stock);
            }
            pairs.exec_async(&mut cache.connection()).await?;
        }
    }
    Ok(())
}

/// The orders after number `last_id` (0: from the start) in an arm's part of the cache node, in order, at most `most` of
/// them.
///
/// # Errors
/// The cache node failed, or one of its entries is not an order.
pub async fn orders_in_cache(last_id: i64, most: u32, cache: &Cache) -> Result<Vec<Order>, CacheError> {
    let rows: Vec<String> = redis::cmd("LRANGE")
        .arg(ORDERS)
        .arg(last_id)
        .arg(last_id + i64::from(most) - 1)
        .query_async(&mut cache.connection())
        .await?;
    (last_id + 1..)
        .zip(rows)
        .map(|(id, row)| order(id, &row).ok_or(CacheError::NoOrder(row)))
        .collect()
}

/// Those of the products that don't have `stock` units, with the units that they have: a run sells only a few of a million
/// products.
///
/// # Errors
/// The cache node failed or has lost a product.
pub async fn stock_sold_in_cache(
    stock: u64,
    products: Range<u64>,
    cache: &Cache,
) -> Result<Vec<(u64, u64)>, CacheError> {
    let found: Vec<(u64, i64)> = NOT_AS_AT_THE_START
        .arg(products.start)
        .arg(products.end - 1)
        .arg(stock)
        .invoke_async(&mut cache.connection())
        .await?;
    let known = |(product, units)| {
        let units = u64::try_from(units).map_err(|_| CacheError::NoStock(product))?;
        Ok((product, units))
    };
    found.into_iter().map(known).collect()
}

/// The products in batches that fit into one command, or one answer.
pub fn batches(products: u64) -> impl Iterator<Item = Range<u64>> {
    (0..products)
        .step_by(10_000)
        .map(move |first| first..products.min(first + 10_000))
}
