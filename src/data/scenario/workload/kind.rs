//! The interface of a workload to the rest of the program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::super::reader::Reader;
use super::super::spec::{ArmSpec, DatabaseSpec, ServiceTime};
use super::super::writer::Writer;
use crate::metrics::{Figures, Group, Metric, OrdersOf, Shown};

/// A kind of workload. Everything that only one of them has is behind this interface, in its `warnings`, or in the
/// workers' code, which checks for it at each request.
pub trait WorkloadKind {
    /// The groups of figures that only it has.
    fn groups(&self) -> &'static [Group];

    /// Whether it sells from a stock.
    fn sells(&self) -> bool {
        self.groups().contains(&Group::Inventory)
    }

    /// Writes its keys of `[workload]`, after `kind`.
    fn write(&self, out: &mut Writer);

    /// Logs values of an arm that contradict each other or the workload.
    fn check_arm(&self, _arm: &ArmSpec, _table: &Reader<'_>) {}

    /// The parts of the simulated time inside the lock.
    fn section(&self) -> Section;

    /// The simulated time that can be changed during a run.
    fn live_time(&self, database: &DatabaseSpec) -> ServiceTime;

    /// What the tables of an arm hold at the start.
    fn initial(&self) -> Initial;

    /// The ledger of the orders; `None` if the workload has no orders.
    fn ledger(&self) -> Option<Ledger> {
        None
    }

    /// The names of its locks, the most wanted first.
    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_>;

    /// How many keys an arm has on the cache node.
    fn cache_keys(&self) -> CacheKeys;

    /// What is shown of it.
    fn display(&self) -> Display;

    /// What an arm with these figures did, in clauses for a sentence about it: `took 12 orders`. `is_doubted`: whether
    /// nothing good can be said about it.
    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String>;
}

/// What is shown of a workload, in every table and chart, as data that the report and the console draw.
#[derive(Debug, Clone)]
pub struct Display {
    /// The figures that judge an arm, the most important first; the first is the headline.
    pub verdicts: &'static [Metric],
    /// The title of its table in the summary.
    pub table: &'static str,
    /// The columns of that table.
    pub columns: &'static [Shown],
    /// Its columns in the console's table, each with its rank: when space is short, the highest rank goes first. The
    /// columns of every workload have ranks 2 to 7 there.
    pub console: &'static [(Metric, u8)],
    /// The lanes of the console's timeline, below the faults: figures that are stored for each second and tenth.
    pub lanes: &'static [Metric],
    /// The lane among them that the console draws for every arm: what a lock costs that does not hold.
    pub cost: Metric,
    /// Its words for why an arm fares as it does.
    pub words: WorkloadWords,
}

/// A workload's words for why an arm fares as it does, each short enough for a column.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadWords {
    /// Without a lock.
    pub without_lock: &'static str,
    /// With a mutex in each app server.
    pub own_mutex: &'static str,
    /// With a lock that holds.
    pub guarded: &'static str,
    /// The verdict on an arm whose figure is poor without being damage.
    pub poor: &'static str,
}

impl Display {
    /// The figure that the workload is about, unless the scenario says otherwise.
    pub const fn headline(&self) -> Metric {
        self.verdicts[0]
    }
}

/// What is known of a workload before it is read from a scenario.
pub struct Row {
    /// Its keys in `[workload]`.
    pub keys: &'static [&'static str],
    /// The keys of `[[arm]]` that only it takes; the lock may still refuse them.
    pub arm_keys: &'static [&'static str],
}

/// The simulated time inside the lock: some reads of the database, and the time between them and the write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section {
    /// How often the database is read, at most.
    pub reads: u32,
    /// The rest of the work.
    pub hold: ServiceTime,
}

/// Where the stock and its orders are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum StockIn {
    /// In tables of the database.
    Database,
    /// In keys of the cache node.
    Redis,
}

/// Where orders are noted, and what stock they are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    /// Products in the stock.
    pub products: u64,
    /// Units of each at the start.
    pub stock: u64,
    /// Where stock and orders are kept.
    pub stock_in: StockIn,
    /// What its orders are.
    pub of: OrdersOf,
}

impl Ledger {
    /// All units at the start.
    pub const fn units(&self) -> u64 {
        self.products.saturating_mul(self.stock)
    }
}

/// Keys of one arm on the cache node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheKeys {
    /// Keys that exist from the start.
    pub at_the_start: u64,
    /// Keys that are added by reading, once all values have been read.
    pub by_reading: u64,
}

/// What the tables of an arm hold at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Initial {
    /// Products in the stock, numbered from 0.
    pub products: u64,
    /// Units of each.
    pub stock: u64,
    /// The contents that the caches are filled from.
    pub catalogue: Vec<Catalogue>,
}

/// The rows behind one cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The name of the cache.
    pub cache: String,
    /// Its keys, numbered from 0.
    pub keys: u64,
    /// Pages of each value, numbered from 1; `None`: one object.
    pub pages: Option<u32>,
}

impl Initial {
    /// The number of rows in all tables.
    pub fn rows(&self) -> u64 {
        let values = |catalogue: &Catalogue| catalogue.keys.saturating_mul(u64::from(catalogue.pages.unwrap_or(1)));
        let catalogue = self.catalogue.iter().map(values).fold(0, u64::saturating_add);
        self.products.saturating_add(catalogue)
    }
}
