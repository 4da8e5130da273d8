//! The settings of `inventory`, and what the rest of the program asks of it.

use std::time::Duration;

use super::super::super::arm_key::ArmKey;
use super::super::super::forms::{popularity, service_time};
use super::super::super::reader::Reader;
use super::super::super::spec::{ArmSpec, DatabaseSpec, Fence, Popularity, ServiceTime, Update};
use super::super::super::value;
use super::super::super::writer::Writer;
use super::super::display::Display;
use super::super::kind::{CacheKeys, Initial, Ledger, Row, Section, StockIn, Surroundings, WorkloadKind};
use super::shown;
use crate::metrics::{Figures, Group, Metric};
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &["products", "stock", "popularity", "hold", "stock_in"],
    arm_keys: &[ArmKey::Update, ArmKey::Fence],
};

/// The stock, and how it is sold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InventorySpec {
    /// How many products; one product is one lock.
    pub products: u64,
    /// Units of each product at the start.
    pub stock: u64,
    /// How often each product is bought.
    pub popularity: Popularity,
    /// The time between reading the stock and writing it back.
    pub hold: ServiceTime,
    /// Where the stock is kept.
    pub stock_in: StockIn,
}

impl WorkloadKind for InventorySpec {
    fn groups(&self) -> &'static [Group] {
        &[Group::Inventory]
    }

    fn write(&self, out: &mut Writer) {
        out.pair("products", self.products);
        out.pair("stock", self.stock);
        out.pair("popularity", popularity::write(self.popularity));
        out.pair("hold", service_time::write(self.hold));
        out.word("stock_in", self.stock_in);
    }

    /// A fence belongs to the stock, not to the lock: any lock may have one, and without a lock it amounts to optimistic
    /// locking.
    fn check_arm(&self, arm: &ArmSpec, table: &Reader<'_>) {
        let (is_atomic, is_fenced) = (arm.update == Update::Atomic, arm.fence != Fence::Off);
        if is_atomic && arm.lock.is_some() && table.sound(&["lock"]) {
            table.complain("update", "an atomic update needs no lock; write lock = \"none\"");
        }
        if is_fenced && self.stock_in == StockIn::Redis {
            table.complain(
                "fence",
                "is checked by the database, and the stock is in Redis; leave out workload.stock_in",
            );
        } else if is_fenced && is_atomic {
            table.complain(
                "fence",
                "guards a write that follows a read, and an atomic update reads nothing; leave out one of the two",
            );
        }
    }

    fn warnings(&self, scenario: &Surroundings<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.overload(scenario));
        lines.extend(self.cannot_sell_out(scenario));
        lines
    }

    fn section(&self) -> Section {
        Section {
            reads: 1,
            hold: self.hold,
        }
    }

    fn live_time(&self, _database: &DatabaseSpec) -> ServiceTime {
        self.hold
    }

    fn initial(&self) -> Initial {
        Initial {
            products: self.products,
            stock: self.stock,
            catalogue: Vec::new(),
        }
    }

    fn ledger(&self) -> Option<Ledger> {
        Some(Ledger {
            products: self.products,
            stock: self.stock,
            stock_in: self.stock_in,
        })
    }

    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new((0..self.products).map(Self::lock_name))
    }

    fn cache_keys(&self) -> CacheKeys {
        CacheKeys {
            at_the_start: match self.stock_in {
                StockIn::Database => 0,
                StockIn::Redis => self.products,
            },
            by_reading: 0,
        }
    }

    fn display(&self) -> Display {
        shown::display(self.units())
    }

    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String> {
        shown::clauses(self.units(), figures, is_doubted)
    }
}

impl InventorySpec {
    /// The name of the lock of a product.
    #[must_use]
    pub fn lock_name(product: u64) -> String {
        format!("product:{product}")
    }

    /// All units at the start.
    const fn units(&self) -> u64 {
        self.products.saturating_mul(self.stock)
    }

    /// A product is one lock: a lock arm can do at most `products / (read + hold)` requests a second.
    fn overload(&self, scenario: &Surroundings<'_>) -> Option<String> {
        let rate = scenario.swarm.rate?;
        scenario.arms.iter().find(|arm| arm.lock.is_some())?;
        let most = self.under_locks(scenario);
        (rate > most).then(|| {
            let products = self.products;
            format!("swarm.rate: {rate}/s is more than {products} locks can do (products / (read + hold) = {most:.0}/s): requests queue up")
        })
    }

    fn under_locks(&self, scenario: &Surroundings<'_>) -> f64 {
        self.products as f64 / (scenario.database.read.mean() + self.hold.mean())
    }

    /// Overselling shows only beyond the stock. If the popularity is not uniform, some products sell out long before the
    /// others.
    fn cannot_sell_out(&self, scenario: &Surroundings<'_>) -> Vec<String> {
        if self.popularity != Popularity::Uniform {
            return Vec::new();
        }
        let units = self.products as f64 * self.stock as f64;
        let swarm = &scenario.swarm;
        let cycle = swarm.think.as_secs_f64() + scenario.database.read.mean() + self.hold.mean();
        let pace = swarm.rate.unwrap_or((swarm.servers * swarm.workers) as f64 / cycle);
        let expected = scenario
            .expect
            .iter()
            .filter(|expectation| expectation.metric == Metric::Oversold);
        let mut lines = Vec::new();
        for expectation in expected {
            let Some(arm) = scenario.arms.iter().find(|arm| arm.name == expectation.arm) else {
                continue;
            };
            let pace = if arm.lock.is_some() {
                pace.min(self.under_locks(scenario))
            } else {
                pace
            };
            let most = swarm
                .requests
                .map_or(f64::INFINITY, |n| n as f64)
                .min(pace * scenario.duration.as_secs_f64());
            if most < units {
                let met = expectation.op.holds(0.0, expectation.bound);
                let but = if met {
                    "expect lost_updates too, which shows before that"
                } else {
                    "it will hardly be met"
                };
                lines.push(format!(
                    "expect \"{}.oversold\": about {most:.0} of {units:.0} units can be sold, and hardly any beyond its product's stock: {but}",
                    arm.name
                ));
            }
        }
        lines
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> InventorySpec {
    let products = reader.need("products", 1, "64", value::whole(reader.range("products")));
    let stock = reader.need("stock", 1, "100", value::whole(reader.range("stock")));
    let popularity = popularity::read(reader);
    if !reader.has("hold") {
        reader.complain(
            "hold",
            "is missing; the time between reading a stock and writing it back, for example \"5ms\"",
        );
    }
    let hold = service_time::read(reader, "hold", value::positive);
    let hold = hold.unwrap_or(ServiceTime::constant(Duration::from_millis(5)));
    let stock_in = reader.listed("stock_in", value::one_of);
    InventorySpec {
        products,
        stock,
        popularity,
        hold,
        stock_in,
    }
}

/// Examples for tests.
pub(crate) fn examples() -> [InventorySpec; 1] {
    [InventorySpec {
        products: 200,
        stock: 50,
        popularity: Popularity::Uniform,
        hold: ServiceTime::constant(Duration::from_millis(5)),
        stock_in: StockIn::Database,
    }]
}
