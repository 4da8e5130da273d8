//! The table of all keys, for those who look one up.

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
    /// Each of its names.
    pub fn each(self) -> impl Iterator<Item = &'static str> {
        quoted(self.names)
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
    // Below the head and the rule.
    let rows = TABLE.lines().skip(2);
    let cells = rows.filter_map(|row| {
        let mut cells = row
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ']));
        Some([cells.next()?, cells.next()?, cells.next()?, cells.next().unwrap_or("")])
    });
    let with_section = cells.scan("", |section, [names, form, what, left_out]| {
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
    with_section.filter(|key| !key.names.starts_with("**"))
}

/// The key of this name in a table.
pub(super) fn key(section: &str, name: &str) -> Option<Key> {
    keys().find(|key| key.section == section && key.each().any(|each| each == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Overrides, Source, parse};

    /// What the reader says of a file with this line.
    fn said(section: &str, key: &str) -> String {
        let text = format!("{section}\n{key} = []\n");
        let name = "keys.toml".to_owned();
        let errors = parse(&Source { name, text }, &Overrides::default()).expect_err("a value of no key");
        errors.0.iter().map(|error| error.to_string() + "\n").collect()
    }

    #[test]
    fn the_reader_knows_every_key_of_the_table() {
        let mut count = 0;
        for key in keys().filter(|key| key.section != "[expect]") {
            for name in key.each() {
                let said = said(key.section, name);
                assert!(
                    !said.contains(&format!("unknown key \"{name}\"")),
                    "{} {name}: {said}",
                    key.section
                );
                count += 1;
            }
        }
        assert!(count > 60, "{count} keys");
        assert!(said("[swarm]", "worker").contains("unknown key"));
    }
}
