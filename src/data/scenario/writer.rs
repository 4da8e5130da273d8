//! Writes TOML: headers, keys and values.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::value::show;
use super::words::Words;

/// A TOML document under construction.
pub struct Writer(String);

impl Writer {
    pub(super) const fn new() -> Self {
        Self(String::new())
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// `[lab]`, after an empty line.
    pub(super) fn header(&mut self, header: &str) {
        self.line(format_args!("\n{header}"));
    }

    /// `key = value`, where the value is TOML.
    pub(super) fn pair(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    /// `key = value`, where the value is TOML, if there is one.
    pub(super) fn optional(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.pair(key, value);
        }
    }

    /// `key = "word"`.
    pub(super) fn word(&mut self, key: &str, word: impl Words) {
        self.pair(key, self::word(word));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string can't fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Text in quotes, escaped where necessary.
pub(super) fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A word in quotes.
pub(super) fn word(word: impl Words) -> String {
    quote(&word.word())
}

/// A duration in quotes.
pub(super) fn time(duration: Duration) -> String {
    quote(&show(duration))
}

/// A TOML float: with a point or an exponent.
pub(super) fn float(number: f64) -> String {
    format!("{number:?}")
}
