//! The settings of `cache-fill`, and what the rest of the program asks of it.

use std::collections::HashSet;
use std::time::Duration;

use super::super::super::forms::{read_popularity, write_popularity};
use super::super::super::reader::Reader;
use super::super::super::spec::{DatabaseSpec, Popularity, ServiceTime};
use super::super::super::value::{self, show};
use super::super::super::writer::{Writer, float, quote, time};
use super::super::kind::{CacheKeys, Catalogue, Display, Initial, Row, Section, WorkloadKind};
use super::shown;
use crate::metrics::{Figures, Group};
use crate::model::in_us;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &["cache"],
    arm_keys: &["serve_stale", "second_look"],
};

/// The most caches: each has rows in every arm's catalogue.
const MOST_CACHES: usize = 1_000;

/// The caches to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheFillSpec {
    /// The caches, names unique.
    pub caches: Vec<CacheSpec>,
}

/// One named cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheSpec {
    /// The first part of its keys.
    pub name: String,
    /// How many keys are read.
    pub keys: u64,
    /// How often each of them is read.
    pub popularity: Popularity,
    /// How long a filled value counts as fresh (the state key's TTL); shorter than `data_ttl`.
    #[serde(rename = "state_ttl_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub state_ttl: Duration,
    /// How long a filled value can be served at all.
    #[serde(rename = "data_ttl_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub data_ttl: Duration,
    /// Pages of each value, which makes it a paged list that is filled page by page; `None`: one object.
    pub pages: Option<u32>,
    /// How often this cache is read compared with the others.
    pub weight: f64,
}

impl CacheSpec {
    /// The name of the lock of a key, which is also that of its value.
    pub fn lock_name(&self, key: u64) -> String {
        format!("{}:{key}", self.name)
    }
}

impl WorkloadKind for CacheFillSpec {
    fn groups(&self) -> &'static [Group] {
        if self.has_pages() {
            &[Group::CacheFill, Group::Pages]
        } else {
            &[Group::CacheFill]
        }
    }

    fn write(&self, out: &mut Writer) {
        for cache in &self.caches {
            out.header("[[workload.cache]]");
            out.pair("name", quote(&cache.name));
            out.pair("keys", cache.keys);
            out.pair("popularity", write_popularity(cache.popularity));
            out.pair("state_ttl", time(cache.state_ttl));
            out.pair("data_ttl", time(cache.data_ttl));
            out.optional("pages", cache.pages);
            out.pair("weight", float(cache.weight));
        }
    }

    fn section(&self) -> Section {
        Section {
            reads: self.caches.iter().filter_map(|cache| cache.pages).max().unwrap_or(1),
            hold: ServiceTime::ZERO,
        }
    }

    fn live_time(&self, database: &DatabaseSpec) -> ServiceTime {
        database.read
    }

    fn initial(&self) -> Initial {
        let catalogue = |cache: &CacheSpec| Catalogue {
            cache: cache.name.clone(),
            keys: cache.keys,
            pages: cache.pages,
        };
        Initial {
            catalogue: self.caches.iter().map(catalogue).collect(),
            ..Initial::default()
        }
    }

    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let caches = self.caches.iter();
        Box::new(caches.flat_map(|cache| (0..cache.keys).map(move |key| cache.lock_name(key))))
    }

    fn cache_keys(&self) -> CacheKeys {
        // Each value has a state and a version; each page is a value.
        let keys = |cache: &CacheSpec| cache.keys.saturating_mul(u64::from(cache.pages.unwrap_or(1)) + 2);
        CacheKeys {
            at_the_start: 0,
            by_reading: self.caches.iter().map(keys).fold(0, u64::saturating_add),
        }
    }

    fn display(&self) -> Display {
        shown::display(self.has_pages())
    }

    fn clauses(&self, figures: &Figures, _is_doubted: bool) -> Vec<String> {
        shown::clauses(figures)
    }
}

impl CacheFillSpec {
    /// Whether some of the values are lists.
    fn has_pages(&self) -> bool {
        self.caches.iter().any(|cache| cache.pages.is_some())
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> CacheFillSpec {
    if !reader.has("cache") {
        let why = "is missing; a cache-fill workload needs at least one [[workload.cache]]";
        reader.complain("cache", why);
    }
    let mut tables = reader.tables("cache");
    reader.limit("cache", &mut tables, MOST_CACHES);
    let mut caches: Vec<CacheSpec> = Vec::new();
    let mut names = HashSet::new();
    for mut table in tables {
        let cache = cache(&mut table);
        if !names.insert(cache.name.clone()) && table.sound(&["name"]) {
            let why = format!("two caches are called \"{}\"; their keys would be the same", cache.name);
            table.complain("name", why);
        }
        table.finish();
        caches.push(cache);
    }
    CacheFillSpec { caches }
}

fn cache(table: &mut Reader<'_>) -> CacheSpec {
    let cache = CacheSpec {
        name: table.need("name", "cache".to_owned(), "\"catalogue\"", value::name),
        keys: table.need("keys", 1, "100", value::whole(table.range("keys"))),
        popularity: read_popularity(table),
        state_ttl: table.need("state_ttl", Duration::from_secs(1), "\"2s\"", value::millis),
        data_ttl: table.need("data_ttl", Duration::from_secs(2), "\"5s\"", value::millis),
        pages: table.whole("pages"),
        weight: table.listed("weight", value::number(0.001..=1_000_000.0)),
    };
    if cache.state_ttl >= cache.data_ttl && table.sound(&["state_ttl", "data_ttl"]) {
        let (state, data) = (show(cache.state_ttl), show(cache.data_ttl));
        let why = format!("state_ttl ({state}) must be shorter than data_ttl ({data}), or no value is ever stale");
        table.complain("state_ttl", why);
    }
    cache
}
