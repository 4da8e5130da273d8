//! Values that are written as a word, a duration or a table: how each is read and written.

use std::time::Duration;

use super::reader::Reader;
use super::spec::{Popularity, Renew, ServiceTime};
use super::suggest;
use super::tree::Value;
use super::value;
use super::writer::{float, quote, time};
use crate::model::Wait;

const UNIFORM: &str = "uniform";
const ZIPF: &str = "zipf";
const OFF: &str = "off";
const FAIL_FAST: &str = "fail-fast";
const QUEUE: &str = "queue";
/// How long an acquire waits before it tries again, unless the scenario says something else.
const DELAY: Duration = Duration::from_millis(20);
/// How an acquire waits if the scenario says nothing about it.
const RETRIES: Wait = Wait::Retry {
    retries: 20,
    delay: DELAY,
    jitter: DELAY,
};

/// `"uniform"`, `"zipf"` or `{ zipf = 1.1 }`.
pub(super) fn read_popularity(reader: &mut Reader<'_>) -> Popularity {
    if !reader.is_table("popularity") {
        let words = [(UNIFORM, Popularity::Uniform), (ZIPF, Popularity::Zipf(1.0))];
        return reader.listed("popularity", value::word(&words));
    }
    let mut table = reader.table("popularity");
    let exponent = table.need(ZIPF, 1.0, "1.1", value::number(0.01..=10.0));
    table.finish();
    Popularity::Zipf(exponent)
}

pub(super) fn write_popularity(popularity: Popularity) -> String {
    match popularity {
        Popularity::Uniform => quote(UNIFORM),
        Popularity::Zipf(exponent) => format!("{{ {ZIPF} = {} }}", float(exponent)),
    }
}

/// `"off"`, `"ttl/2"` to `"ttl/9"`, or a duration.
pub(super) fn read_renew(value: &Value) -> Result<Renew, String> {
    let Value::Text(text) = value else {
        return value::positive(value).map(Renew::Every);
    };
    match Renew::part_of_ttl(text) {
        _ if text == OFF => Ok(Renew::Off),
        Some(part) => Ok(Renew::Fraction(part)),
        _ if text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            value::positive(value).map(Renew::Every)
        }
        _ => Err(format!("\"{text}\" is not off, ttl/2 to ttl/9 or a duration")),
    }
}

pub(super) fn write_renew(renew: Renew) -> String {
    match renew {
        Renew::Off => quote(OFF),
        Renew::Fraction(n) => quote(&format!("ttl/{n}")),
        Renew::Every(every) => time(every),
    }
}

/// The service time at `key`; `parse` reads its median.
pub(super) fn read_service_time(
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

/// A duration, or `{ median = "5ms", sigma = 0.6 }`.
pub(super) fn write_service_time(service_time: ServiceTime) -> String {
    let median = time(service_time.median);
    if service_time.sigma == 0.0 {
        median
    } else {
        format!("{{ median = {median}, sigma = {} }}", float(service_time.sigma))
    }
}

/// How a lock on lock nodes waits.
pub(super) fn read_wait(table: &mut Reader<'_>) -> Wait {
    if !table.is_table("wait") {
        return table.get("wait", waiting_word).unwrap_or(RETRIES);
    }
    let mut retry = table.table("wait");
    let retries = retry.need("retries", 20, "20", value::whole(1..=1_000_000));
    let delay = retry.get("delay", value::positive).unwrap_or(DELAY);
    let jitter = retry.get("jitter", value::duration).unwrap_or(delay);
    retry.finish();
    Wait::Retry { retries, delay, jitter }
}

fn waiting_word(value: &Value) -> Result<Wait, String> {
    let forms = "fail-fast, queue or a table like { retries = 20, delay = \"20ms\" }";
    match value {
        Value::Text(text) if text == FAIL_FAST => Ok(Wait::FailFast),
        Value::Text(text) if text == QUEUE => Ok(Wait::Queue),
        Value::Text(text) => {
            let meant = suggest::meant(text, [FAIL_FAST, QUEUE]);
            Err(format!("\"{text}\" is not {forms}{meant}"))
        }
        other => Err(format!("is {}; it is {forms}", other.kind())),
    }
}

/// How a lock without lock nodes waits: in line, or not at all.
pub(super) fn read_wait_in_line(table: &mut Reader<'_>) -> Wait {
    let read = |value: &Value| match value {
        Value::Text(text) if text == FAIL_FAST => Ok(Wait::FailFast),
        _ => Err("whoever waits for such a lock waits in line; leave wait out, or write \"fail-fast\"".to_owned()),
    };
    table.get("wait", read).unwrap_or(RETRIES)
}

/// `"fail-fast"`, `"queue"` or `{ retries = 20, delay = "20ms", jitter = "20ms" }`.
pub(super) fn write_wait(wait: Wait) -> String {
    match wait {
        Wait::Retry { retries, delay, jitter } => {
            let (delay, jitter) = (time(delay), time(jitter));
            format!("{{ retries = {retries}, delay = {delay}, jitter = {jitter} }}")
        }
        Wait::FailFast => quote(FAIL_FAST),
        Wait::Queue => quote(QUEUE),
    }
}
