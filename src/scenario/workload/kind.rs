//! What the rest of the program asks of a workload.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::super::arm_key::ArmKey;
use super::super::condition::Expectation;
use super::super::reader::Reader;
use super::super::spec::{ArmSpec, DatabaseSpec, ServiceTime, SwarmSpec};
use super::super::writer::Writer;
use super::display::Display;
use crate::metrics::{Figures, Group};

/// A kind of workload. All that only one of them has is behind this interface, or in the workers' code, which asks for it at
/// each request.
pub(crate) trait WorkloadKind {
    /// The groups of figures that only it has.
    fn groups(&self) -> &'static [Group];

    /// Writes its keys of `[workload]`, after `kind`.
    fn write(&self, out: &mut Writer);

    /// Complains about values of an arm that contradict each other or the workload.
    fn check_arm(&self, _arm: &ArmSpec, _table: &Reader<'_>) {}

    /// What is allowed but will probably not show what its author wants, a line each.
    fn warnings(&self, scenario: &Surroundings<'_>) -> Vec<String>;

    /// What the time inside the lock consists of.
    fn section(&self) -> Section;

    /// The simulated time that can be changed while a run goes on, of those that the scenario sets.
    fn live_time(&self, database: &DatabaseSpec) -> ServiceTime;

    /// What the tables of an arm hold at the start.
    fn initial(&self) -> Initial;

    /// The ledger of the orders; none if the workload has no orders.
    fn ledger(&self) -> Option<Ledger> {
        None
    }

    /// How many keys an arm has on the cache node.
    fn cache_keys(&self) -> CacheKeys;

    /// What is shown of it.
    fn display(&self) -> Display;

    /// What an arm with these figures did, in clauses for a sentence about it: `took 12 orders`. `is_doubted`: whether nothing
    /// good can be said of it.
    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String>;
}

/// What is known of a workload before it is read.
pub(super) struct Row {
    /// Its keys in `[workload]`.
    pub keys: &'static [&'static str],
    /// Its keys in `[[arm]]`.
    pub arm_keys: &'static [ArmKey],
}

/// The rest of the scenario, as far as a workload's warnings depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub duration: Duration,
    pub swarm: &'a SwarmSpec,
    pub database: &'a DatabaseSpec,
    pub arms: &'a [ArmSpec],
    pub expect: &'a [Expectation],
}

/// The simulated time inside the lock: so many reads of the database, and the time between them and the write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Section {
    /// How often the database is read, at most.
    pub reads: u32,
    /// What the work takes besides.
    pub hold: ServiceTime,
}

/// Where the stock and its orders live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum StockIn {
    /// In tables of the database.
    Database,
    /// In keys of the cache node.
    Redis,
}

/// Where the orders are noted, and what they are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    /// Products in the stock.
    pub products: u64,
    /// Units of each at the start.
    pub stock: u64,
    /// Where stock and orders are.
    pub stock_in: StockIn,
}

impl Ledger {
    /// All units at the start.
    #[must_use]
    pub const fn units(&self) -> u64 {
        self.products.saturating_mul(self.stock)
    }
}

/// Keys of one arm on the cache node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheKeys {
    /// Those that are there from the start on.
    pub at_the_start: u64,
    /// Those that come as they are read, once all have been.
    pub by_reading: u64,
}

/// What the tables of an arm hold at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Initial {
    /// Products in the stock, numbered from 0.
    pub products: u64,
    /// Units of each.
    pub stock: u64,
    /// What the caches are filled from.
    pub catalogue: Vec<Catalogue>,
}

/// The rows behind one cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The name of the cache.
    pub cache: String,
    /// Its keys, numbered from 0.
    pub keys: u64,
    /// Pages of each value, numbered from 1; none: one object.
    pub pages: Option<u32>,
}

impl Initial {
    /// The rows of all tables.
    pub(crate) fn rows(&self) -> u64 {
        let values = |catalogue: &Catalogue| catalogue.keys.saturating_mul(u64::from(catalogue.pages.unwrap_or(1)));
        let catalogue = self.catalogue.iter().map(values).fold(0, u64::saturating_add);
        self.products.saturating_add(catalogue)
    }
}
