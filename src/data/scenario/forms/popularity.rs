//! `"uniform"`, `"zipf"` or `{ zipf = 1.1 }`.

use super::super::reader::Reader;
use super::super::spec::Popularity;
use super::super::value;
use super::super::writer::{float, quote};

const KEY: &str = "popularity";
const UNIFORM: &str = "uniform";
const ZIPF: &str = "zipf";

pub(in super::super) fn read(reader: &mut Reader<'_>) -> Popularity {
    if !reader.is_table(KEY) {
        let words = [(UNIFORM, Popularity::Uniform), (ZIPF, Popularity::Zipf(1.0))];
        return reader.listed(KEY, value::word(&words));
    }
    let mut table = reader.table(KEY);
    let exponent = table.need(ZIPF, 1.0, "1.1", value::number(0.01..=10.0));
    table.finish();
    Popularity::Zipf(exponent)
}

pub(in super::super) fn write(popularity: Popularity) -> String {
    match popularity {
        Popularity::Uniform => quote(UNIFORM),
        Popularity::Zipf(exponent) => format!("{{ {ZIPF} = {} }}", float(exponent)),
    }
}
