//! `"off"`, `"ttl/2"`, `"ttl/3"` or a duration.

use super::super::spec::Renew;
use super::super::tree::Value;
use super::super::value;
use super::super::writer::{quote, time};

const OFF: &str = "off";
const PART_OF_TTL: &str = "ttl/";

pub(in super::super) fn read(value: &Value) -> Result<Renew, String> {
    let Value::Text(text) = value else {
        return value::positive(value).map(Renew::Every);
    };
    match text.strip_prefix(PART_OF_TTL) {
        _ if text == OFF => Ok(Renew::Off),
        Some("2") => Ok(Renew::Fraction(2)),
        Some("3") => Ok(Renew::Fraction(3)),
        _ if text.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            value::positive(value).map(Renew::Every)
        }
        _ => Err(format!("\"{text}\" is not off, ttl/2, ttl/3 or a duration")),
    }
}

pub(in super::super) fn write(renew: Renew) -> String {
    match renew {
        Renew::Off => quote(OFF),
        Renew::Fraction(n) => quote(&format!("{PART_OF_TTL}{n}")),
        Renew::Every(every) => time(every),
    }
}
