//! The changes that the command line makes to a scenario before it is read.

use std::time::Duration;

use super::database_url::without_secrets;
use super::error::ScenarioError;
use super::read::STARTS;
use super::suggest;
use super::tree::{Node, Origin, Table, Value};
use super::value::show;

/// The changes that the command line makes to a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `KEY=VALUE`, as typed: `arm.redlock.ttl=500ms`, `swarm.rate=200/s`, `fault.1.at=3s`, `expect.redlock.oversold===
    /// 0`.
    pub set: Vec<String>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another duration.
    pub duration: Option<Duration>,
    /// The command of an arm to add: `--client`. None if it is empty.
    pub client: Vec<String>,
}

/// One change of the command line.
pub(super) struct Change {
    /// Its flag as it was typed, without possible secrets.
    pub flag: String,
    /// `KEY=VALUE`.
    assignment: String,
}

impl Overrides {
    /// Each change, in the order in which they are made.
    pub(super) fn changes(&self) -> Vec<Change> {
        let set = self.set.iter().map(|assignment| Change {
            flag: flag(assignment),
            assignment: assignment.clone(),
        });
        // These have a flag of their own.
        let plain = |key: &str, value: String| Change {
            flag: format!("--{key} {value}"),
            assignment: format!("{key}={value}"),
        };
        let seed = self.seed.map(|seed| plain("seed", seed.to_string()));
        let duration = self.duration.map(|duration| plain("duration", show(duration)));
        set.chain(seed).chain(duration).collect()
    }
}

impl Change {
    /// Whether it is about a key in this table.
    pub(super) fn is_within(&self, table: &str) -> bool {
        self.assignment.trim_start().starts_with(table)
    }

    /// Changes the tree; the value remembers its flag.
    pub(super) fn apply(&self, root: &mut Table) -> Result<(), ScenarioError> {
        set(root, &self.assignment, &self.flag)
            .map_err(|message| ScenarioError::new(&self.flag, without_secrets(&message).unwrap_or(message)))
    }
}

/// The flag as it was typed, without possible secrets: the values of keys that look like a database's or a node's, and URLs.
fn flag(assignment: &str) -> String {
    let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let plain = key.to_lowercase();
    let is_harmless = [".pool", ".read", ".read.median", ".read.sigma"]
        .iter()
        .any(|end| plain.trim_end().ends_with(end));
    let sounds_secret = ["data", "url", "pass", "pg", "nodes"]
        .iter()
        .any(|word| plain.contains(word))
        && !is_harmless;
    let flag = format!("--set {assignment}");
    if sounds_secret && !value.contains("://") && value.trim() != "sqlite" && assignment.contains('=') {
        return format!("--set {key}=…");
    }
    without_secrets(&flag).unwrap_or(flag)
}

fn set(root: &mut Table, assignment: &str, flag: &str) -> Result<(), String> {
    let (path, value) = assignment
        .split_once('=')
        .ok_or("needs KEY=VALUE; for example --set arm.redlock.ttl=500ms".to_owned())?;
    let (path, value) = (path.trim(), value.trim());
    let keys = match path.strip_prefix("expect.") {
        // The key of an expectation contains a dot itself.
        Some(figure) => vec!["expect".to_owned(), figure.trim_matches('"').to_owned()],
        None => split(path),
    };
    let [parents @ .., last] = keys.as_slice() else {
        return Err("does not name a key".to_owned());
    };
    if keys.iter().any(String::is_empty) {
        return Err(format!("\"{path}\" is not a key; write it like arm.redlock.ttl"));
    }
    let mut table = root;
    let mut parents = parents.iter();
    while let Some(key) = parents.next() {
        // The reader decides whether a table that was not there makes sense.
        table = match &mut at(table, key, flag).value {
            Value::Table(inner) => inner,
            Value::Array(items) => {
                let which = parents
                    .next()
                    .ok_or_else(|| format!("which key of {key} {last}? write {path}.KEY=VALUE"))?;
                member(key, items, which)?
            }
            other => return Err(format!("{key} is {} here, so it has no keys of its own", other.kind())),
        };
    }
    if keys[0] == "fault" && STARTS.contains(&last.as_str()) {
        // It starts by one of these.
        table.retain(|(key, _)| !STARTS.contains(&key.as_str()));
    }
    put(table, last, Value::of_flag(value, flag), flag);
    Ok(())
}

/// The element of `[[kind]]` with the name or number `which`.
fn member<'a>(kind: &str, items: &'a mut [Node], which: &str) -> Result<&'a mut Table, String> {
    let names: Vec<String> = items.iter().enumerate().map(|(n, item)| item.name(n)).collect();
    let Some(found) = names.iter().position(|name| name == which) else {
        return Err(format!(
            "no {kind} \"{which}\"{}",
            suggest::hint(which, names.iter().map(String::as_str))
        ));
    };
    match &mut items[found].value {
        Value::Table(table) => Ok(table),
        other => Err(format!("{kind} {which} is {}, so it has no keys", other.kind())),
    }
}

/// `arm."a.b".ttl` without its dots and quotes.
fn split(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => keys.push(String::new()),
            _ => keys.last_mut().into_iter().for_each(|key| key.push(c)),
        }
    }
    keys.iter().map(|key| key.trim().to_owned()).collect()
}

/// What is at `key`: a table, if there is nothing yet.
fn at<'a>(table: &'a mut Table, key: &str, flag: &str) -> &'a mut Node {
    let place = table.iter().position(|(name, _)| name == key);
    let place = place.unwrap_or_else(|| {
        let node = Node {
            at: Origin::Flag(flag.to_owned()),
            value: Value::Table(Table::new()),
        };
        table.push((key.to_owned(), node));
        table.len() - 1
    });
    &mut table[place].1
}

fn put(table: &mut Table, key: &str, value: Value, flag: &str) {
    *at(table, key, flag) = Node {
        at: Origin::Flag(flag.to_owned()),
        value,
    };
}
