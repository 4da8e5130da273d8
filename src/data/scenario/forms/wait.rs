//! `"fail-fast"`, `"queue"` or `{ retries = 20, delay = "20ms", jitter = "20ms" }`.

use std::time::Duration;

use super::super::reader::Reader;
use super::super::suggest;
use super::super::tree::Value;
use super::super::value;
use super::super::writer::{quote, time};
use crate::model::Wait;

const KEY: &str = "wait";
const FAIL_FAST: &str = "fail-fast";
const QUEUE: &str = "queue";
const DELAY: Duration = Duration::from_millis(20);

/// How an acquire waits if the scenario says nothing about it.
pub(in super::super) const RETRIES: Wait = Wait::Retry {
    retries: 20,
    delay: DELAY,
    jitter: DELAY,
};

/// How a lock on lock nodes waits.
pub(in super::super) fn read(table: &mut Reader<'_>) -> Wait {
    if !table.is_table(KEY) {
        return table.get(KEY, word).unwrap_or(RETRIES);
    }
    let mut retry = table.table(KEY);
    let retries = retry.need("retries", 20, "20", value::whole(1..=1_000_000));
    let delay = retry.get("delay", value::positive).unwrap_or(DELAY);
    let jitter = retry.get("jitter", value::duration).unwrap_or(delay);
    retry.finish();
    Wait::Retry { retries, delay, jitter }
}

fn word(value: &Value) -> Result<Wait, String> {
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
pub(in super::super) fn read_in_line(table: &mut Reader<'_>) -> Wait {
    let read = |value: &Value| match value {
        Value::Text(text) if text == FAIL_FAST => Ok(Wait::FailFast),
        _ => Err("an in-process mutex wakes its waiters in line; leave wait out, or write \"fail-fast\"".to_owned()),
    };
    table.get(KEY, read).unwrap_or(RETRIES)
}

pub(in super::super) fn write(wait: Wait) -> String {
    match wait {
        Wait::Retry { retries, delay, jitter } => {
            let (delay, jitter) = (time(delay), time(jitter));
            format!("{{ retries = {retries}, delay = {delay}, jitter = {jitter} }}")
        }
        Wait::FailFast => quote(FAIL_FAST),
        Wait::Queue => quote(QUEUE),
    }
}
