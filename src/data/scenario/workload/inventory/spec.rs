//! The settings of `inventory`, and what the rest of the program asks of it.

use std::time::Duration;

use super::super::super::forms::{read_popularity, read_service_time, write_popularity, write_service_time};
use super::super::super::reader::Reader;
use super::super::super::spec::{ArmSpec, DatabaseSpec, Fence, Popularity, Release, ServiceTime, Update};
use super::super::super::value;
use super::super::super::writer::Writer;
use super::super::kind::{CacheKeys, Display, Initial, Ledger, Row, Section, StockIn, WorkloadKind};
use super::shown;
use crate::metrics::{Figures, Group, OrdersOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &["products", "stock", "popularity", "hold", "stock_in"],
    arm_keys: &["update", "fence", "release"],
};

/// The stock, and how it is sold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        out.pair("popularity", write_popularity(self.popularity));
        out.pair("hold", write_service_time(self.hold));
        out.word("stock_in", self.stock_in);
    }

    /// A fence belongs to the stock, not to the lock: any lock may have one, and without a lock it amounts to optimistic
    /// locking.
    fn check_arm(&self, arm: &ArmSpec, table: &Reader<'_>) {
        let (is_guarded, is_fenced) = (arm.update.is_guarded(), arm.fence != Fence::Off);
        if is_guarded && arm.lock.is_some() && table.sound(&["lock"]) {
            let what = match arm.update {
                Update::Atomic => "an atomic update",
                _ => "an update under a row lock",
            };
            table.complain("update", format!("{what} needs no lock; write lock = \"none\""));
        }
        if arm.update == Update::RowLock && self.stock_in == StockIn::Redis {
            let why = "is a lock of the database, and the stock is in Redis; leave out workload.stock_in";
            table.complain("update", why);
        }
        if is_fenced && self.stock_in == StockIn::Redis {
            let why = "is checked by the database, and the stock is in Redis; leave out workload.stock_in";
            table.complain("fence", why);
        } else if is_fenced && is_guarded {
            let why = "guards a write that follows a read, and here nobody else can write in between; leave out one of the two";
            table.complain("fence", why);
        }
        if arm.release == Release::BeforeWrite && !arm.lock.is_some() && table.sound(&["lock"]) {
            table.complain("release", "there is no lock to release; leave it out, or choose a lock");
        }
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
            of: OrdersOf::Sales,
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
        shown::display()
    }

    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String> {
        shown::clauses(self.units(), figures, is_doubted)
    }
}

impl InventorySpec {
    /// The name of the lock of a product.
    pub fn lock_name(product: u64) -> String {
        format!("product:{product}")
    }

    /// All units at the start.
    const fn units(&self) -> u64 {
        self.products.saturating_mul(self.stock)
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> InventorySpec {
    let products = reader.need("products", 1, "64", value::whole(reader.range("products")));
    let stock = reader.need("stock", 1, "100", value::whole(reader.range("stock")));
    let popularity = read_popularity(reader);
    if !reader.has("hold") {
        let why = "is missing; the time between reading a stock and writing it back, for example \"5ms\"";
        reader.complain("hold", why);
    }
    let hold = read_service_time(reader, "hold", value::positive);
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
