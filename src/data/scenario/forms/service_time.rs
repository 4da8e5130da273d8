//! A duration, or `{ median = "5ms", sigma = 0.6 }`.

use std::time::Duration;

use super::super::reader::Reader;
use super::super::spec::ServiceTime;
use super::super::tree::Value;
use super::super::value;
use super::super::writer::{float, time};

/// The service time at `key`; `parse` reads its median.
pub(in super::super) fn read(
    reader: &mut Reader<'_>,
    key: &'static str,
    parse: fn(&Value) -> Result<Duration, String>,
) -> Option<ServiceTime> {
    if !reader.is_table(key) {
        return reader.get(key, parse).map(ServiceTime::constant);
    }
    let mut table = reader.table(key);
    let median = table.need("median", Duration::ZERO, "\"5ms\"", parse);
    let sigma = table.get("sigma", value::number(0.0..=5.0)).unwrap_or(0.0);
    table.finish();
    Some(ServiceTime { median, sigma })
}

pub(in super::super) fn write(service_time: ServiceTime) -> String {
    let median = time(service_time.median);
    if service_time.sigma == 0.0 {
        median
    } else {
        format!("{{ median = {median}, sigma = {} }}", float(service_time.sigma))
    }
}
