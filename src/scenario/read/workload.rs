//! `[workload]` and its `[[workload.cache]]`.

use std::collections::HashSet;
use std::time::Duration;

use super::super::error::thousands;
use super::super::reader::Reader;
use super::super::spec::{CacheSpec, InventorySpec, Popularity, ServiceTime, StockIn, WorkloadSpec};
use super::super::value;
use super::general::service_time;

#[derive(Clone, Copy)]
enum Kind {
    Inventory,
    CacheFill,
}

const KINDS: &[(&str, Kind)] = &[("inventory", Kind::Inventory), ("cache-fill", Kind::CacheFill)];
const STOCK_IN: &[(&str, StockIn)] = &[("database", StockIn::Database), ("redis", StockIn::Redis)];
const INVENTORY_KEYS: &[&str] = &["products", "stock", "popularity", "hold", "stock_in"];
const MOST: u64 = 1_000_000_000;
/// The most caches: each has rows in every arm's catalogue.
const MOST_CACHES: usize = 1_000;

pub(super) fn read(mut reader: Reader<'_>) -> WorkloadSpec {
    // Without a kind the keys that are there tell which one is meant, so that the rest can be checked.
    let meant = if reader.has("cache") {
        Kind::CacheFill
    } else {
        Kind::Inventory
    };
    let kind = reader.need("kind", meant, "\"inventory\" or \"cache-fill\"", value::word(KINDS));
    let workload = match kind {
        Kind::Inventory => {
            reader.refuse(
                &["cache"],
                "makes no sense in an inventory workload; caches belong to kind = \"cache-fill\"",
            );
            WorkloadSpec::Inventory(inventory(&mut reader))
        }
        Kind::CacheFill => {
            reader.refuse(
                INVENTORY_KEYS,
                "makes no sense in a cache-fill workload; it belongs to kind = \"inventory\"",
            );
            WorkloadSpec::CacheFill {
                caches: caches(&mut reader),
            }
        }
    };
    reader.finish();
    workload
}

fn inventory(reader: &mut Reader<'_>) -> InventorySpec {
    let products = reader.need("products", 1, "64", value::count(1..=1_000_000));
    let stock = reader.need("stock", 1, "100", value::count(1..=MOST));
    let popularity = popularity(reader);
    if !reader.has("hold") {
        reader.complain(
            "hold",
            "is missing; the time between reading a stock and writing it back, for example \"5ms\"",
        );
    }
    let hold = service_time(reader, "hold", value::positive);
    let hold = hold.unwrap_or(ServiceTime {
        median: Duration::from_millis(5),
        sigma: 0.0,
    });
    let stock_in = reader.or("stock_in", StockIn::Database, value::word(STOCK_IN));
    InventorySpec {
        products,
        stock,
        popularity,
        hold,
        stock_in,
    }
}

fn caches(reader: &mut Reader<'_>) -> Vec<CacheSpec> {
    let written = reader.has("cache");
    let mut tables = reader.tables("cache");
    if !written {
        reader.complain(
            "cache",
            "is missing; a cache-fill workload needs at least one [[workload.cache]]",
        );
    }
    if tables.len() > MOST_CACHES {
        let many = thousands(tables.len());
        reader.complain(
            "cache",
            format!("{many} caches are too many; {} at most", thousands(MOST_CACHES)),
        );
        tables.truncate(MOST_CACHES);
    }
    let mut caches: Vec<CacheSpec> = Vec::new();
    let mut names = HashSet::new();
    for mut table in tables {
        let cache = cache(&mut table);
        if !names.insert(cache.name.clone()) && table.sound(&["name"]) {
            table.complain(
                "name",
                format!("two caches are called \"{}\"; their keys would be the same", cache.name),
            );
        }
        table.finish();
        caches.push(cache);
    }
    caches
}

fn cache(table: &mut Reader<'_>) -> CacheSpec {
    let name = table.need("name", "cache".to_owned(), "\"catalogue\"", value::name);
    let keys = table.need("keys", 1, "100", value::count(1..=MOST));
    let popularity = popularity(table);
    let state_ttl = table.need("state_ttl", Duration::from_secs(1), "\"2s\"", value::millis);
    let data_ttl = table.need("data_ttl", Duration::from_secs(2), "\"5s\"", value::millis);
    let pages = table.get("pages", value::small(1..=10_000));
    let weight = table.or("weight", 1.0, value::number(0.001..=1_000_000.0));
    if state_ttl >= data_ttl && table.sound(&["state_ttl", "data_ttl"]) {
        let (state, data) = (value::show(state_ttl), value::show(data_ttl));
        let why = format!("state_ttl ({state}) must be shorter than data_ttl ({data}), or no value is ever stale");
        table.complain("state_ttl", why);
    }
    CacheSpec {
        name,
        keys,
        popularity,
        state_ttl,
        data_ttl,
        pages,
        weight,
    }
}

/// `"uniform"`, `"zipf"` or `{ zipf = 1.1 }`.
fn popularity(reader: &mut Reader<'_>) -> Popularity {
    const WORDS: &[(&str, Popularity)] = &[("uniform", Popularity::Uniform), ("zipf", Popularity::Zipf(1.0))];
    if !reader.is_table("popularity") {
        return reader.or("popularity", Popularity::Uniform, value::word(WORDS));
    }
    let mut table = reader.table("popularity");
    let exponent = table.need("zipf", 1.0, "1.1", value::number(0.01..=10.0));
    table.finish();
    Popularity::Zipf(exponent)
}
