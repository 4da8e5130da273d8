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
    /// Its values, and what they do.
    pub value: &'static str,
    /// What it is when it is left out; empty if that goes without saying.
    pub left_out: &'static str,
}

impl Key {
    /// Each of its names.
    pub fn each(self) -> impl Iterator<Item = &'static str> {
        self.names.split('`').skip(1).step_by(2)
    }
}

/// All keys, in the order of a file.
pub fn keys() -> impl Iterator<Item = Key> {
    // Below the head and the rule.
    let rows = TABLE.lines().skip(2);
    let cells = rows.filter_map(|row| {
        let (names, rest) = row.strip_prefix("| ")?.strip_suffix('|')?.split_once(" | ")?;
        let (value, left_out) = rest.rsplit_once("| ")?;
        Some([names, value, left_out].map(str::trim))
    });
    let with_section = cells.scan("", |section, [names, value, left_out]| {
        if let Some(name) = names.strip_prefix("**`") {
            *section = name.trim_end_matches("`**");
        }
        let section = *section;
        Some(Key {
            section,
            names,
            value,
            left_out,
        })
    });
    with_section.filter(|key| !key.names.starts_with("**"))
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
