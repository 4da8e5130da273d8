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
        return table.or(KEY, RETRIES, |value| {
            let forms = "fail-fast, queue or a table like { retries = 20, delay = \"20ms\" }";
            let Value::Text(text) = value else {
                return Err(format!("is {}; it is {forms}", value.kind()));
            };
            match text.as_str() {
                FAIL_FAST => Ok(Wait::FailFast),
                QUEUE => Ok(Wait::Queue),
                _ => Err(format!(
                    "\"{text}\" is not {forms}{}",
                    suggest::meant(text, [FAIL_FAST, QUEUE])
                )),
            }
        });
    }
    let mut retry = table.table(KEY);
    let retries = retry.need("retries", 20, "20", value::whole(1..=1_000_000));
    let delay = retry.or("delay", DELAY, value::positive);
    let jitter = retry.or("jitter", delay, value::duration);
    retry.finish();
    Wait::Retry { retries, delay, jitter }
}

/// How a lock without lock nodes waits: in line, or not at all.
pub(in super::super) fn read_in_line(table: &mut Reader<'_>) -> Wait {
    table.or(KEY, RETRIES, |value| match value {
        Value::Text(text) if text == FAIL_FAST => Ok(Wait::FailFast),
        _ => Err("an in-process mutex wakes its waiters in line; leave wait out, or write \"fail-fast\"".to_owned()),
    })
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
