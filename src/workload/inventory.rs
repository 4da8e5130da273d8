use std::sync::LazyLock;

use rand::rngs::SmallRng;
use redis::Script;

use super::chance::{Choice, draw};
use super::section::Section;
use super::{Cache, CacheError, Failed, Tools};
use crate::metrics::Count;
use crate::scenario::{Fence, InventorySpec, ServiceTime, StockIn, Update, WorkloadSpec};
use crate::store::Token;

/// Takes one unit if there is one. Returns whether it did; nothing without the key.
static TAKE_ONE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local units = redis.call('GET', KEYS[1])
         if not units then return nil end
         if tonumber(units) < 1 then return 0 end
         redis.call('DECR', KEYS[1])
         return 1",
    )
});

/// The work of selling stock: read the units left, think, write back one less and append the order.
#[derive(Debug)]
pub struct Inventory {
    tools: Tools,
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

    pub(super) const fn tools(&self) -> &Tools {
        &self.tools
    }

    /// One customer buys one unit of one product.
    pub(super) async fn request(&self, rng: &mut SmallRng, worker: usize) -> Result<(), Failed> {
        let product = self.choice.draw(rng);
        let by = format!("s{}w{worker}", self.tools.server.0);
        let section = self.tools.enter(&format!("product:{product}")).await?;
        let sold = match self.tools.arm.update {
            Update::ReadWrite => self.read_and_write(product, &by, &section, rng).await,
            Update::Atomic => self.update(product, &by, &section, rng).await,
        };
        section.leave().await;
        self.tools
            .recorder
            .count(if sold? { Count::Order } else { Count::SoldOut });
        Ok(())
    }

    /// Writes back what was read less one: right only if nobody else did so meanwhile, or if a fence refuses those who did.
    async fn read_and_write(
        &self,
        product: u64,
        by: &str,
        section: &Section<'_>,
        rng: &mut SmallRng,
    ) -> Result<bool, Failed> {
        let token = self.token(product, by).await?;
        let Some(left) = self.units(product, token, rng).await?.checked_sub(1) else {
            return Ok(false);
        };
        self.think(rng).await;
        section.check()?;
        match (self.stock_in, token) {
            (StockIn::Database, None) => self.tools.store.sell(product, left, by).await?,
            (StockIn::Database, Some(token)) => self.tools.store.sell_fenced(product, left, token).await?,
            (StockIn::Redis, _) => {
                let mut cache = self.tools.cache.connection();
                redis::cmd("SET")
                    .arg(stock_key(product))
                    .arg(left)
                    .exec_async(&mut cache)
                    .await?;
                self.tools.store.append_order(product, by).await?;
            }
        }
        Ok(true)
    }

    /// What a fenced arm's worker shows to the stock.
    async fn token<'a>(&self, product: u64, owner: &'a str) -> Result<Option<Token<'a>>, Failed> {
        if self.tools.arm.fence == Fence::Off {
            return Ok(None);
        }
        let number = self.tools.store.draw_token(product).await?;
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
        self.think(rng).await;
        section.check()?;
        match self.stock_in {
            StockIn::Database => Ok(self.tools.store.sell_one(product, by).await?),
            StockIn::Redis => {
                let mut cache = self.tools.cache.connection();
                let taken: Option<bool> = TAKE_ONE.key(stock_key(product)).invoke_async(&mut cache).await?;
                let taken = taken.ok_or(CacheError::NoStock(product))?;
                if taken {
                    self.tools.store.append_order(product, by).await?;
                }
                Ok(taken)
            }
        }
    }

    async fn think(&self, rng: &mut SmallRng) {
        let time = draw(self.tools.dials.hold(self.hold), rng);
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    }
}

fn stock_key(product: u64) -> String {
    format!("stock:{product}")
}

/// Fills an arm's part of the cache node before its load begins: the stock keys, where the stock lives there.
///
/// # Errors
/// The cache node failed.
pub async fn prepare_cache(workload: &WorkloadSpec, cache: &Cache) -> Result<(), CacheError> {
    let WorkloadSpec::Inventory(spec) = workload else {
        return Ok(());
    };
    if spec.stock_in == StockIn::Redis {
        for products in batches(spec) {
            let mut pairs = redis::cmd("MSET");
            for product in products {
                pairs.arg(stock_key(product)).arg(spec.stock);
            }
            pairs.exec_async(&mut cache.connection()).await?;
        }
    }
    Ok(())
}

/// Units left per product in an arm's part of the cache node: the oracle's view where the stock lives there.
///
/// # Errors
/// The cache node failed or has lost a product.
pub async fn stock_in_cache(spec: &InventorySpec, cache: &Cache) -> Result<Vec<(u64, u64)>, CacheError> {
    let mut stock = Vec::new();
    for products in batches(spec) {
        let keys: Vec<_> = products.clone().map(stock_key).collect();
        let units: Vec<Option<u64>> = redis::cmd("MGET")
            .arg(keys)
            .query_async(&mut cache.connection())
            .await?;
        for (product, units) in products.zip(units) {
            stock.push((product, units.ok_or(CacheError::NoStock(product))?));
        }
    }
    Ok(stock)
}

/// The products in parts that fit into one command.
fn batches(spec: &InventorySpec) -> impl Iterator<Item = std::ops::Range<u64>> {
    let products = spec.products;
    (0..products)
        .step_by(10_000)
        .map(move |first| first..products.min(first + 10_000))
}
