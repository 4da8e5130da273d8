//! Single values: text, counts, numbers, durations, words. Each error says what is wrong and what would be right.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::suggest;
use super::tree::Value;
use super::words::Words;
use crate::metrics::units::{counted, rounded};
use crate::model::{HostId, Skew, printable};

/// The most characters of a caption.
const CAPTION: usize = 76;
/// The most characters of a lesson: two lines.
const LESSON: usize = 2 * CAPTION;
/// The most characters of an act's title.
const TITLE: usize = 32;
/// The longest duration in a scenario.
const LONGEST: Duration = Duration::from_hours(168);

pub(super) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Err("is empty".to_owned()),
        Value::Text(text) if text.chars().any(char::is_control) => Err("contains a control character".to_owned()),
        Value::Text(text) => Ok(text.clone()),
        other => Err(format!("is {}; write text in quotes", other.kind())),
    }
}

/// A line that fits on the narrowest terminal that shows everything.
pub(super) fn caption(value: &Value) -> Result<String, String> {
    line(value, CAPTION)
}

/// What a reader should remember.
pub(super) fn lesson(value: &Value) -> Result<String, String> {
    line(value, LESSON)
}

/// The title of an act, which stands beside other things on a line.
pub(super) fn title(value: &Value) -> Result<String, String> {
    line(value, TITLE)
}

fn line(value: &Value, most: usize) -> Result<String, String> {
    let line = text(value)?;
    match line.chars().count() {
        long if long > most => Err(format!(
            "is {long} characters long; {most} at most, so that it fits on 80 columns"
        )),
        _ => Ok(line),
    }
}

/// A name that can be used in `arm.metric`, in conditions and in tables.
pub(super) fn name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    let fits = |c: char| c.is_alphanumeric() || " -_".contains(c);
    // Some letters have no width.
    let is_seen = printable(&name) == name;
    if name.trim() != name || !is_seen || !name.chars().all(fits) || name.split(' ').any(|word| word == "and") {
        return Err(format!(
            "\"{name}\" is not a name; letters, digits, inner spaces, - and _, without the word \"and\""
        ));
    }
    if name.chars().count() > 24 {
        return Err(format!("\"{name}\" is too long for the tables; 24 characters at most"));
    }
    Ok(name)
}

pub(super) fn yes(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(yes) => Ok(*yes),
        other => Err(format!("is {}; write true or false without quotes", other.kind())),
    }
}

/// A whole number within `range`.
pub(super) fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&Value) -> Result<T, String> {
    move |value| {
        let Value::Integer(n) = value else {
            return Err(format!("is {}; write a whole number without quotes", describe(value)));
        };
        let within = u64::try_from(*n).ok().filter(|n| range.contains(n));
        within
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| match *range.end() {
                u64::MAX => format!("{n} is out of range; at least {}", range.start()),
                most => format!("{n} is out of range; {} to {most}", range.start()),
            })
    }
}

/// The number of one of so many hosts.
pub(super) fn host(hosts: usize) -> impl Fn(&Value) -> Result<HostId, String> {
    move |value| match whole(1..=9)(value)? {
        host if host > hosts => {
            let hosts = counted(hosts as u64, "host", "hosts");
            Err(format!("there is no host {host}; the lab has {hosts}"))
        }
        host => Ok(HostId(host)),
    }
}

/// A number within `range`.
pub(super) fn number(range: RangeInclusive<f64>) -> impl Fn(&Value) -> Result<f64, String> {
    move |value| {
        let n = match value {
            Value::Float(n) => *n,
            Value::Integer(n) => *n as f64,
            other => return Err(format!("is {}; write a number without quotes", other.kind())),
        };
        if !range.contains(&n) {
            return Err(format!("{n} is out of range; {} to {}", range.start(), range.end()));
        }
        Ok(n)
    }
}

/// Requests a second: a number or `"400/s"`.
pub(super) fn rate(value: &Value) -> Result<f64, String> {
    let n: Option<f64> = match value {
        Value::Text(text) => {
            let text = text.trim();
            text.strip_suffix("/s").unwrap_or(text).trim().parse().ok()
        }
        other => number(f64::MIN..=f64::MAX)(other).ok(),
    };
    n.filter(|n| *n > 0.0 && *n <= 1e6).ok_or_else(|| {
        let shown = describe(value);
        format!("{shown} is not a rate; write a number above 0 and up to 1000000, like \"400/s\"")
    })
}

/// By how much a clock jumps, in milliseconds.
pub(super) fn shift(value: &Value) -> Result<i64, String> {
    parse_shift(&text(value)?)
}

/// By how much a clock jumps, in milliseconds: `2s`, or `-60s` back.
///
/// # Errors
/// It is no duration, or out of range.
pub fn parse_shift(text: &str) -> Result<i64, String> {
    let (sign, by) = text.strip_prefix('-').map_or((1, text), |by| (-1, by));
    let by = parse_duration(by.trim())?;
    let ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    let is_whole = by.subsec_nanos() % 1_000_000 == 0;
    if !is_whole || !(Skew::LEAST_MS..=Skew::MOST_MS).contains(&ms) {
        return Err(format!(
            "\"{text}\" is out of range; 10ms to 24h, ahead or behind, in whole milliseconds"
        ));
    }
    Ok(sign * ms)
}

/// How fast a clock runs, in parts per million of the true rate.
pub(super) fn clock_rate(value: &Value) -> Result<u32, String> {
    let rate = number(0.0..=f64::from(Skew::FASTEST))(value)?;
    let ppm = u32::try_from(rounded(rate * f64::from(Skew::TRUE_RATE))).unwrap_or(u32::MAX);
    match ppm.abs_diff(Skew::TRUE_RATE) {
        0 | Skew::LEAST_PPM.. => Ok(ppm),
        _ => Err(format!(
            "{rate} is too near to 1 to be told from it; write 0.999 or less, or 1.001 or more"
        )),
    }
}

/// The same, as it is written on a command line.
///
/// # Errors
/// It is no number, or out of range.
pub fn parse_clock_rate(text: &str) -> Result<u32, String> {
    let rate = text.parse().map_err(|_| "write a number, 1.001 or 0".to_owned())?;
    clock_rate(&Value::Float(rate))
}

/// A duration, zero allowed.
pub(super) fn duration(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Text(text) => parse_duration(text),
        Value::Integer(_) | Value::Float(_) => {
            let n = describe(value);
            Err(format!("{n} has no unit; write \"{n}ms\" or \"{n}s\""))
        }
        other => {
            let is = other.kind();
            Err(format!("is {is}; write a duration like \"500ms\" or \"2s\""))
        }
    }
}

/// The duration, zero allowed, in a text.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("\"{text}\" is negative; a duration is 0 or more"));
    }
    match humantime::parse_duration(text) {
        Ok(duration) if duration > LONGEST => Err(format!("\"{text}\" is out of range; 7 days at most")),
        Ok(duration) => Ok(duration),
        Err(_) => Err(format!(
            "\"{text}\" is not a duration; write it like \"500ms\", \"2s\" or \"1m\""
        )),
    }
}

/// A duration above zero.
pub(super) fn positive(value: &Value) -> Result<Duration, String> {
    match duration(value)? {
        Duration::ZERO => Err("is 0; a duration above 0 is needed".to_owned()),
        duration => Ok(duration),
    }
}

/// A duration above zero that Redis can count: whole milliseconds.
pub(super) fn millis(value: &Value) -> Result<Duration, String> {
    whole_units(value, 1_000_000, "milliseconds, which is what Redis counts TTLs in")
}

/// A duration above zero that Redis counts in whole seconds.
pub(super) fn seconds(value: &Value) -> Result<Duration, String> {
    whole_units(value, 1_000_000_000, "seconds, which is what Redis counts it in")
}

fn whole_units(value: &Value, nanos: u32, units: &str) -> Result<Duration, String> {
    match positive(value)? {
        duration if duration.subsec_nanos().is_multiple_of(nanos) => Ok(duration),
        duration => Err(format!("{} is not a whole number of {units}", show(duration))),
    }
}

/// A word of an enum.
pub(super) fn one_of<T: Words>(value: &Value) -> Result<T, String> {
    let words: Vec<(String, T)> = T::VARIANTS.iter().map(|variant| (variant.word(), *variant)).collect();
    word(&words)(value)
}

/// One of a few words, for values that are not only words.
pub(super) fn word<S: AsRef<str>, T: Copy>(words: &[(S, T)]) -> impl Fn(&Value) -> Result<T, String> {
    move |value| {
        let all: Vec<&str> = words.iter().map(|(word, _)| word.as_ref()).collect();
        let list = suggest::list(&all);
        let Value::Text(text) = value else {
            return Err(format!("is {}; it is {list}, in quotes", describe(value)));
        };
        let found = all.iter().position(|word| word == text).map(|at| words[at].1);
        found.ok_or_else(|| format!("\"{text}\" is not {list}{}", suggest::meant(text, all)))
    }
}

/// A duration as users write it.
pub(super) fn show(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

fn describe(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{text}\""),
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        other => other.kind().to_owned(),
    }
}
