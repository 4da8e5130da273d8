//! The table of all keys, for those who look one up.

use std::sync::LazyLock;

use super::tree::Value;

/// The only place that says what a key is for.
const TABLE: &str = include_str!("keys.md");

/// A key of a scenario. All text is Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The table of TOML that it is in, in brackets; empty for the keys at the top.
    pub section: &'static str,
    /// Its name, with back quotes; several if they belong together.
    pub names: &'static str,
    /// How a value is written, as [`Form`] reads it.
    pub form: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What it is when it is left out; empty if that goes without saying.
    pub left_out: &'static str,
}

impl Key {
    /// Whether this is the row of a table, and not of a key in it.
    fn is_table(self) -> bool {
        self.names.starts_with("**")
    }

    /// Each of its names.
    pub fn each(self) -> impl Iterator<Item = &'static str> {
        quoted(self.names)
    }

    /// The value that stands for it when it is left out, if the table has it as TOML writes it.
    pub(super) fn default(self) -> Option<Value> {
        let text = self.left_out.trim_matches('`');
        match text {
            "true" | "false" => Some(Value::Bool(text == "true")),
            _ => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(text) => Some(Value::Text(text.to_owned())),
                None => text.parse().ok().map(Value::Integer),
            },
        }
    }

    /// The forms that a value can have.
    pub fn forms(self) -> impl Iterator<Item = Form> {
        self.form.split(" or ").map(Form::of)
    }
}

/// One way to write a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Text in quotes.
    Text,
    /// A list of texts, or a text.
    Texts,
    /// Text with a number and a unit.
    Duration,
    /// Requests a second: a number, or text like `"400/s"`.
    Rate,
    /// Any number.
    Number,
    /// A whole number from the first to the last.
    Whole(u64, u64),
    /// `true` or `false`.
    Flag,
    /// One of these words, in quotes.
    Words(Vec<&'static str>),
    /// A table.
    Table,
}

impl Form {
    /// Reads a form of the table.
    fn of(text: &'static str) -> Self {
        if let Some(range) = text.strip_prefix("whole number, ") {
            let number = |text: &str| text.parse().unwrap_or(0);
            return match range.split_once(" to ") {
                Some((least, most)) => Self::Whole(number(least), number(most)),
                None => Self::Whole(number(range.trim_end_matches(" or more")), u64::MAX),
            };
        }
        match text {
            "duration" => Self::Duration,
            "list of texts" => Self::Texts,
            "rate" => Self::Rate,
            "number" => Self::Number,
            "true/false" => Self::Flag,
            "table" => Self::Table,
            words if words.starts_with('`') => Self::Words(quoted(words).map(|word| word.trim_matches('"')).collect()),
            _ => Self::Text,
        }
    }
}

/// What stands in back quotes.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// All keys, in the order of a file.
pub fn keys() -> impl Iterator<Item = Key> {
    ALL.iter().copied().filter(|key| !key.is_table())
}

/// The tables that a scenario can have.
pub fn tables() -> impl Iterator<Item = Key> {
    ALL.iter().copied().filter(|key| key.is_table())
}

/// The rows of the table.
static ALL: LazyLock<Vec<Key>> = LazyLock::new(|| {
    // Below the head and the rule.
    let rows = TABLE.lines().skip(2);
    let cells = rows.filter_map(|row| {
        // No cell has a bar of its own.
        let mut cells = row.strip_prefix('|')?.split('|').map(str::trim);
        Some([cells.next()?, cells.next()?, cells.next()?, cells.next()?])
    });
    let keys = cells.scan("", |section, [names, form, what, left_out]| {
        if let Some(name) = names.strip_prefix("**`") {
            *section = name.trim_end_matches("`**");
        }
        Some(Key {
            section,
            names,
            form,
            what,
            left_out,
        })
    });
    keys.collect()
});

/// The key of this name in a table.
pub(super) fn key(section: &str, name: &str) -> Option<Key> {
    keys().find(|key| key.section == section && key.each().any(|each| each == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Overrides, Source, parse};

    /// What the reader says of a file with this key and a wrong value.
    fn said(section: &str, key: &str, value: &str) -> String {
        let text = format!("{section}\n{key} = {value}\n");
        let name = "keys.toml".to_owned();
        let errors = parse(&Source { name, text }, &Overrides::default()).expect_err("a value of no key");
        errors.0.iter().map(|error| error.to_string() + "\n").collect()
    }

    #[test]
    fn what_is_left_out_is_what_the_table_says_and_what_the_types_say() {
        let text = "[workload]\nkind = \"inventory\"\nproducts = 8\nstock = 8\nhold = \"1ms\"\n[[arm]]\nname = \"a\"\n\
                    lock = \"single\"\ntopology = \"replicated\"\n[[arm]]\nname = \"b\"\nlock = \"cluster\"\n";
        let read = |text: String| {
            let name = "keys.toml".to_owned();
            parse(&Source { name, text }, &Overrides::default()).expect("it is valid")
        };
        let scenario = read(text.to_owned());
        assert_eq!((scenario.lab.hosts, scenario.swarm.workers, scenario.seed), (3, 16, 42));
        assert_eq!(scenario.arms[0].ttl, std::time::Duration::from_secs(2));
        let written = read(format!("{text}[lab.replicated]\n[lab.cluster]\n"));
        assert_eq!(scenario.lab, written.lab);
    }

    #[test]
    fn the_reader_takes_the_words_of_the_table_and_no_others() {
        let mut count = 0;
        for key in keys() {
            for (name, form) in key.each().flat_map(|name| key.forms().map(move |form| (name, form))) {
                let Form::Words(words) = form else { continue };
                let said = said(key.section, name, "\"xyzzy\"");
                let lines = said
                    .lines()
                    .filter(|line| line.contains(&format!("{name}: \"xyzzy\" is not")));
                for line in lines {
                    let list = line.split(" is not ").nth(1).unwrap_or_default();
                    let known = list.split([',', ' ']).filter(|word| !["", "or"].contains(word));
                    let known: Vec<&str> = known.collect();
                    let only = !key.form.contains(" or ");
                    assert!(
                        words.iter().all(|word| known.contains(word)) && (!only || known.len() == words.len()),
                        "{line}: {words:?}"
                    );
                    count += 1;
                }
            }
        }
        assert!(count >= 8, "{count} keys with words");
    }

    #[test]
    fn the_reader_knows_every_key_of_the_table() {
        let mut count = 0;
        for key in keys().filter(|key| key.section != "[expect]") {
            for name in key.each() {
                let said = said(key.section, name, "[]");
                assert!(
                    !said.contains(&format!("unknown key \"{name}\"")),
                    "{} {name}: {said}",
                    key.section
                );
                count += 1;
            }
        }
        assert!(count > 60, "{count} keys");
        assert!(said("[swarm]", "worker", "[]").contains("unknown key"));
    }
}
