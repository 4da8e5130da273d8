//! A scenario's TOML as a tree of values that know where they were written. Overrides and readers work on it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::database_url::without_secrets;
use super::error::ScenarioError;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Somewhere in the file.
    File,
    /// On this line of the file, from 1.
    Line(usize),
    /// On the command line, in this flag as it was typed.
    Flag(String),
}

/// A value and its origin (the line of its key, if it has one).
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub at: Origin,
    pub value: Value,
}

impl Node {
    /// What an element of a list is called: its name or, without one, its number. `index` is its place, from 0.
    pub(super) fn name(&self, index: usize) -> String {
        let name = match &self.value {
            Value::Table(table) => get(table, "name").map(|node| &node.value),
            _ => None,
        };
        match name {
            Some(Value::Text(name)) => name.clone(),
            _ => (index + 1).to_string(),
        }
    }
}

/// Keys and values in the order of the file.
pub(super) type Table = Vec<(String, Node)>;

#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Bool(bool),
    Integer(i128),
    Float(f64),
    Date,
    Array(Vec<Node>),
    Table(Table),
}

impl Value {
    /// Its kind, for messages like "is a number, but …".
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Bool(_) => "true or false",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Date => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }

    /// The value of a flag's text: parsed as TOML if possible, otherwise plain text (`500ms`, `fail-fast`).
    pub(super) fn of_flag(text: &str, flag: &str) -> Self {
        match DeValue::parse(text) {
            Ok(value) => convert(value.get_ref(), &|_| Origin::Flag(flag.to_owned())),
            Err(_) => Self::Text(text.to_owned()),
        }
    }
}

/// The value of `key` in `table`.
pub(super) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a Node> {
    table.iter().find(|(name, _)| name == key).map(|(_, node)| node)
}

/// Parses a file's text.
///
/// # Errors
/// Broken TOML: the first mistake, with its line and column.
pub(super) fn parse(file: &str, text: &str) -> Result<Table, ScenarioError> {
    let lines = Lines::of(text);
    let document = DeTable::parse(text).map_err(|error| {
        let (line, column) = lines.position(text, error.span().map_or(0, |span| span.start));
        ScenarioError::new(
            format!("{file}:{line}:{column}"),
            format!("not valid TOML: {}", error.message()),
        )
    })?;
    Ok(table(document.get_ref(), &|offset| Origin::Line(lines.line(offset))))
}

/// The byte offsets at which the lines of a text begin, because each value of a long file needs its line.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line of a byte offset, from 1.
    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|begin| *begin <= offset)
    }

    /// The line and column of a byte offset, from 1.
    fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let before = text.get(self.0[line - 1]..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}

/// Removes possible secrets from URLs where none belongs, because errors quote what they don't understand. Only the reader
/// of `database.url` and of `lab.nodes` sees the whole URL. The title of a scenario may contain one.
pub(super) fn hide_urls(root: &mut Table) {
    for (key, node) in root {
        let whole = match key.as_str() {
            "database" => "url",
            "lab" => "nodes",
            _ => "",
        };
        match &mut node.value {
            Value::Table(table) if !whole.is_empty() => table
                .iter_mut()
                .filter(|(key, node)| key != whole || !is_text(&node.value))
                .for_each(|(key, node)| hide(key, &mut node.value)),
            Value::Text(title) if key == "title" && !title.contains('@') => {}
            value => hide(key, value),
        }
    }
}

/// Whether it is text, or a list of texts.
fn is_text(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::Array(items) => items.iter().all(|item| matches!(item.value, Value::Text(_))),
        _ => false,
    }
}

fn hide(key: &mut String, value: &mut Value) {
    if let Some(shown) = without_secrets(key) {
        *key = shown;
    }
    match value {
        Value::Text(text) => {
            if let Some(shown) = without_secrets(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| hide(&mut String::new(), &mut item.value)),
        Value::Table(table) => table.iter_mut().for_each(|(key, node)| hide(key, &mut node.value)),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Date => {}
    }
}

fn table(from: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin) -> Table {
    let mut entries: Vec<_> = from.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| {
            let node = Node {
                at: origin(key.span().start),
                value: convert(value.get_ref(), origin),
            };
            (key.get_ref().to_string(), node)
        })
        .collect()
}

fn convert(value: &DeValue<'_>, origin: &dyn Fn(usize) -> Origin) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        // A number beyond i128 is out of every range of a scenario.
        DeValue::Integer(n) => Value::Integer(i128::from_str_radix(n.as_str(), n.radix()).unwrap_or(i128::MAX)),
        DeValue::Float(n) => Value::Float(n.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::Array(items.iter().map(|item| element(item, origin)).collect()),
        DeValue::Table(entries) => Value::Table(table(entries, origin)),
    }
}

fn element(item: &Spanned<DeValue<'_>>, origin: &dyn Fn(usize) -> Origin) -> Node {
    Node {
        at: origin(item.span().start),
        value: convert(item.get_ref(), origin),
    }
}
