//! Reads a table of the tree. Every key that is asked for is known; a key that nobody asks for is an error. Every mistake
//! is logged with the place where it was written.

use std::cell::RefCell;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;

use super::error::{ScenarioError, ScenarioErrors};
use super::keys::{self, Form};
use super::suggest;
use super::tree::{self, Node, Origin, Table, Value};
use super::value;
use crate::metrics::units::count;

/// The mistakes found so far. After a mistake the reading goes on with a substitute for the value, to find all of them.
pub(super) struct Log {
    file: String,
    entries: RefCell<Vec<(usize, ScenarioError)>>,
}

impl Log {
    pub(super) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            entries: RefCell::default(),
        }
    }

    /// Whether the source is a file that other users can read.
    pub(super) fn can_others_read(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o044 != 0)
    }

    /// Logs a mistake in `key`, which is written at `at`.
    pub(super) fn add(&self, at: &Origin, key: &str, message: impl Into<String>) {
        let (rank, place) = match at {
            Origin::File => (0, format!("{}: {key}", self.file)),
            Origin::Line(line) => (*line, format!("{}:{line}: {key}", self.file)),
            Origin::Flag(flag) => (usize::MAX, flag.clone()),
        };
        self.entries
            .borrow_mut()
            .push((rank, ScenarioError::new(place, message)));
    }

    /// Logs a mistake that has its own place, after those of the file.
    pub(super) fn append(&self, error: ScenarioError) {
        self.entries.borrow_mut().push((usize::MAX, error));
    }

    /// All mistakes in the order of the file, if there are any.
    pub(super) fn into_result(self) -> Result<(), ScenarioErrors> {
        let mut entries = self.entries.into_inner();
        if entries.is_empty() {
            return Ok(());
        }
        entries.sort_by_key(|(rank, _)| *rank);
        Err(ScenarioErrors(entries.into_iter().map(|(_, error)| error).collect()))
    }
}

/// Reads one table.
pub struct Reader<'a> {
    pub(super) log: &'a Log,
    /// The dotted path of the table, as in `--set`.
    pub(super) path: String,
    /// Its name in the table of keys: `[[arm]]`.
    section: String,
    /// Where its header is written.
    pub(super) at: Origin,
    table: &'a Table,
    known: Vec<&'static str>,
    refused: Vec<&'static str>,
    unfit: Vec<(&'static str, String)>,
    wrong: RefCell<Vec<&'static str>>,
}

/// Takes the place of a table that is left out.
static NOTHING: Table = Table::new();

impl<'a> Reader<'a> {
    /// Reads the table at the top of a scenario.
    pub(super) fn root(log: &'a Log, table: &'a Table) -> Self {
        Self::new(log, (String::new(), String::new()), Origin::File, table)
    }

    fn new(log: &'a Log, (path, section): (String, String), at: Origin, table: &'a Table) -> Self {
        Self {
            log,
            path,
            section,
            at,
            table,
            known: Vec::new(),
            refused: Vec::new(),
            unfit: Vec::new(),
            wrong: RefCell::new(Vec::new()),
        }
    }

    /// From now on, `refuse`s each of these keys for its reason when it is asked for, as if it were left out.
    pub(super) fn without(&mut self, unfit: impl Iterator<Item = (&'static str, String)>) {
        self.unfit = unfit.collect();
    }

    /// The value of `key`, if it is written.
    pub(super) fn node(&mut self, key: &'static str) -> Option<&'a Node> {
        debug_assert!(
            self.is_listed(key),
            "{} {key} is missing in the table of keys",
            self.section
        );
        if let Some((_, why)) = self.unfit.iter().find(|(unfit, _)| *unfit == key) {
            let why = why.clone();
            self.refuse(&[key], &why);
            return None;
        }
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        tree::get(self.table, key)
    }

    /// Whether the table of keys has this key, or the table that it is. It names no keys of tables that are values.
    fn is_listed(&self, key: &str) -> bool {
        let table = self.section(key, false);
        let table = table.trim_matches(['[', ']']);
        let is_in = |section: &str| {
            let rest = section.trim_matches(['[', ']']).strip_prefix(table);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        keys::key(&self.section, key).is_some()
            || keys::keys().any(|one| is_in(one.section))
            || keys::keys().all(|one| one.section != self.section)
    }

    /// The whole numbers that the table of keys allows.
    pub(super) fn range(&self, key: &str) -> RangeInclusive<u64> {
        let forms = keys::key(&self.section, key).into_iter().flat_map(keys::Key::forms);
        let mut ranges = forms.filter_map(|form| match form {
            Form::Whole(least, most) => Some(least..=most),
            _ => None,
        });
        ranges.next().unwrap_or(0..=u64::MAX)
    }

    /// The whole number `key` within its range; `None` if it is left out, or wrong, which is logged.
    pub(super) fn whole<T: TryFrom<u64>>(&mut self, key: &'static str) -> Option<T> {
        let range = self.range(key);
        self.get(key, value::whole(range))
    }

    /// The value that stands for `key` when it is left out, if the table of keys has one.
    pub(super) fn default_of(&self, key: &str) -> Option<Value> {
        keys::key(&self.section, key)?.default()
    }

    /// What the table of keys says stands for `key` when it is left out.
    pub(super) fn left_out<T>(&self, key: &str, parse: impl FnOnce(&Value) -> Result<T, String>) -> T {
        let value = self
            .default_of(key)
            .map_or(Err("none".to_owned()), |value| parse(&value));
        // It has one, and one that fits: a test reads a scenario in which all such keys are left out.
        value.unwrap_or_else(|why| panic!("{} {key} has no default: {why}", self.section))
    }

    /// The value of `key`, or what the table of keys says stands for it.
    pub(super) fn listed<T>(&mut self, key: &'static str, parse: impl Fn(&Value) -> Result<T, String>) -> T {
        self.get(key, &parse).unwrap_or_else(|| self.left_out(key, parse))
    }

    /// The whole number `key` within its range, or what the table of keys says stands for it.
    pub(super) fn listed_whole<T: TryFrom<u64>>(&mut self, key: &'static str) -> T {
        let range = self.range(key);
        self.listed(key, value::whole(range))
    }

    /// The value of `key`; `None` if it is left out, or wrong, which is logged.
    pub(super) fn get<T>(&mut self, key: &'static str, parse: impl FnOnce(&Value) -> Result<T, String>) -> Option<T> {
        let node = self.node(key)?;
        parse(&node.value).map_err(|message| self.complain(key, message)).ok()
    }

    /// The value of `key`, which is required; after a mistake `stand_in` keeps the reading going.
    pub(super) fn need<T>(
        &mut self,
        key: &'static str,
        stand_in: T,
        example: &str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> T {
        if self.node(key).is_none() {
            self.complain(key, format!("is missing; for example {key} = {example}"));
            return stand_in;
        }
        self.get(key, parse).unwrap_or(stand_in)
    }

    /// Logs an error with this reason if one of `keys` is written: they are known, but make no sense here.
    pub(super) fn refuse(&mut self, keys: &[&'static str], why: &str) {
        for key in keys {
            self.refused.push(key);
            if self.has(key) {
                self.complain(key, why);
            }
        }
    }

    /// Whether `key` is written.
    pub(super) fn has(&self, key: &str) -> bool {
        tree::get(self.table, key).is_some()
    }

    /// Whether `key` is written as a table.
    pub(super) fn is_table(&self, key: &str) -> bool {
        tree::get(self.table, key).is_some_and(|node| matches!(node.value, Value::Table(_)))
    }

    /// Whether no mistake was found in any of `keys`, so that comparing them makes sense.
    pub(super) fn sound(&self, keys: &[&str]) -> bool {
        !self.wrong.borrow().iter().any(|key| keys.contains(key))
    }

    /// Where `key` is written; otherwise, where the table is.
    pub(super) fn origin(&self, key: &str) -> &Origin {
        tree::get(self.table, key).map_or(&self.at, |node| &node.at)
    }

    /// Logs a mistake in `key`.
    pub(super) fn complain(&self, key: &'static str, message: impl Into<String>) {
        self.wrong.borrow_mut().push(key);
        self.log.add(self.origin(key), &self.key(key), message);
    }

    /// The sub-table `key`. If it is left out, or is not a table (which is logged), an empty one.
    pub(super) fn table(&mut self, key: &'static str) -> Self {
        let (at, table) = match self.node(key) {
            Some(Node {
                at,
                value: Value::Table(table),
            }) => (at.clone(), table),
            Some(node) => {
                let why = format!("is {}; write a table: [{}]", node.value.kind(), self.key(key));
                self.complain(key, why);
                (self.at.clone(), &NOTHING)
            }
            None => (self.at.clone(), &NOTHING),
        };
        Self::new(self.log, (self.key(key), self.section(key, false)), at, table)
    }

    /// The tables of `[[key]]`, each with its path, which contains its name or, without one, its number.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Self> {
        let items = match self.node(key).map(|node| &node.value) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(_) => {
                let why = format!(
                    "is a single table; there can be several, so write [[{}]]",
                    self.key(key)
                );
                self.complain(key, why);
                &[]
            }
            None => &[],
        };
        let mut readers = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            let path = format!("{}.{}", self.key(key), item.name(n));
            match &item.value {
                Value::Table(table) => {
                    let place = (path, self.section(key, true));
                    readers.push(Self::new(self.log, place, item.at.clone(), table));
                }
                other => self
                    .log
                    .add(&item.at, &path, format!("is {}, not a table", other.kind())),
            }
        }
        readers
    }

    /// Logs that there are too many tables of `[[key]]`, if so, and leaves the last ones out: errors in them would add nothing.
    pub(super) fn limit(&self, key: &'static str, tables: &mut Vec<Self>, most: usize) {
        if tables.len() > most {
            let (many, most) = (count(tables.len() as u64), count(most as u64));
            self.complain(key, format!("{many} {key}s are too many; {most} at most"));
        }
        tables.truncate(most);
    }

    /// All keys with their values, for a table whose keys are names.
    pub(super) const fn entries(&self) -> &'a Table {
        self.table
    }

    /// Logs the keys that nobody asked for.
    pub(super) fn finish(self) {
        for (key, node) in self.table {
            if !self.known.contains(&key.as_str()) && !self.refused.contains(&key.as_str()) {
                let hint = suggest::hint(key, self.known.iter().copied());
                self.log
                    .add(&node.at, &self.key(key), format!("unknown key \"{key}\"{hint}"));
            }
        }
    }

    /// The name in the table of keys of the table, or the tables, that `key` is.
    fn section(&self, key: &str, several: bool) -> String {
        let inner = match self.section.trim_matches(['[', ']']) {
            "" => key.to_owned(),
            above => format!("{above}.{key}"),
        };
        if several {
            format!("[[{inner}]]")
        } else {
            format!("[{inner}]")
        }
    }

    /// The dotted path of `key`.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}
