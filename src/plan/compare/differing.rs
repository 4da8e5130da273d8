//! In which settings two runs differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use lockstorm_run::{Machine, Record};

/// Keys that say nothing of how a run is played.
const WORDS: [&str; 8] = [
    "title", "caption", "lesson", "look_at", "try", "teaches", "seed", "expect",
];
/// What is compared when it differs. Runs that differ in anything else are of unlike scenarios.
const SETTINGS: [&str; 3] = ["arm.", "swarm.", "lab.persistence"];

/// A key of the scenario in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its dotted path: `arm.redlock.ttl`, and `arm.*.ttl` if all arms differ in it alike.
    pub key: String,
    /// What each side has, as TOML; null for one that has no such key.
    pub values: [Option<String>; 2],
}

impl Setting {
    /// What a side has, in a word or two: `ttl 4s`.
    pub fn of_side(&self, side: usize) -> String {
        let last = self.key.rsplit('.').next().unwrap_or(&self.key);
        match &self.values[side] {
            Some(value) => format!("{last} {}", value.trim_matches('"')),
            None => format!("no {last}"),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self
            .values
            .each_ref()
            .map(|value| value.as_deref().unwrap_or("nothing"));
        write!(f, "{}: {a} against {b}", self.key)
    }
}

/// What differs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Differing {
    /// Settings, which is what is compared.
    pub settings: Vec<Setting>,
    /// What else differs in the scenario.
    pub scenario: Vec<String>,
    /// What differs in the machine, the server or the program.
    pub machine: Vec<String>,
}

impl Differing {
    /// What differs between two runs.
    pub fn of(a: &Record, b: &Record) -> Self {
        let mut all = Self::default();
        let (one, other) = (keys(&a.scenario_toml), keys(&b.scenario_toml));
        for setting in collapsed(&one, &other) {
            if SETTINGS.iter().any(|known| setting.key.starts_with(known)) {
                all.settings.push(setting);
            } else {
                all.scenario.push(setting.to_string());
            }
        }
        let machine = |Machine { os, arch, cpus, .. }: &Machine| format!("{os}, {arch}, {cpus} processors");
        let server = |record: &Record| {
            record
                .nodes
                .first()
                .map_or_else(String::new, |node| node.server.clone())
        };
        for (what, one, other) in [
            ("machine", machine(&a.machine), machine(&b.machine)),
            ("lockstorm", a.lockstorm.clone(), b.lockstorm.clone()),
            ("server", server(a), server(b)),
        ] {
            if one != other {
                all.machine.push(format!("{what}: {one} against {other}"));
            }
        }
        all
    }
}

/// Each key that differs. A key of all arms in which they differ alike is told once.
fn collapsed(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<Setting> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let pair = |key: &str| [one.get(key), other.get(key)];
    let mut all = BTreeMap::new();
    for key in &names {
        let values = pair(key);
        if values[0] == values[1] {
            continue;
        }
        let of_an_arm = key.strip_prefix("arm.").and_then(|rest| rest.rsplit_once('.'));
        let shared = of_an_arm.filter(|(_, last)| {
            let is_same_key = |name: &&&String| name.starts_with("arm.") && name.ends_with(&format!(".{last}"));
            names.iter().filter(is_same_key).all(|name| pair(name) == values)
        });
        let key = shared.map_or_else(|| (*key).clone(), |(_, last)| format!("arm.*.{last}"));
        all.insert(key, values.map(Option::<&String>::cloned));
    }
    all.into_iter().map(|(key, values)| Setting { key, values }).collect()
}

/// The keys of a scenario by their dotted paths, an arm's with its name and a fault's with its number.
fn keys(toml: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    // A record that another program wrote may have no TOML at all; then it has no keys.
    let Ok(table) = toml.parse::<toml::Table>() else {
        return all;
    };
    for (key, value) in table.into_iter().filter(|(key, _)| !WORDS.contains(&key.as_str())) {
        add(&mut all, key, value);
    }
    all
}

fn add(all: &mut BTreeMap<String, String>, path: String, value: toml::Value) {
    match value {
        toml::Value::Table(table) => {
            let told = table.into_iter().filter(|(key, _)| !WORDS.contains(&key.as_str()));
            told.for_each(|(key, value)| add(all, format!("{path}.{key}"), value));
        }
        toml::Value::Array(items) if items.iter().all(toml::Value::is_table) => {
            for (place, item) in items.into_iter().enumerate() {
                let name = item.get("name").and_then(toml::Value::as_str).map(str::to_owned);
                add(
                    all,
                    format!("{path}.{}", name.unwrap_or_else(|| (place + 1).to_string())),
                    item,
                );
            }
        }
        value => {
            all.insert(path, value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(one: &str, other: &str) -> Vec<String> {
        let all = collapsed(&keys(one), &keys(other));
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_differs_is_named_by_its_path_and_once_for_all_arms() {
        let file = |ttl: &str, own: &str| {
            format!(
                "title = \"{ttl}\"\nseed = 1\n[swarm]\nworkers = 4\n[[arm]]\nname = \"a\"\nttl = \"{ttl}\"\nrenew = \"{own}\"\n\
                 [[arm]]\nname = \"b\"\nttl = \"{ttl}\"\nrenew = \"off\"\n[expect]\n\"a.oversold\" = \"== 0\"\n"
            )
        };
        assert_eq!(
            differing(&file("4s", "off"), &file("8s", "off")),
            ["arm.*.ttl: \"4s\" against \"8s\""]
        );
        assert_eq!(
            differing(&file("4s", "off"), &file("4s", "ttl/3")),
            ["arm.a.renew: \"off\" against \"ttl/3\""]
        );
        let more = file("4s", "off").replace("workers = 4", "servers = 2");
        assert_eq!(
            differing(&file("4s", "off"), &more),
            ["swarm.servers: nothing against 2", "swarm.workers: 4 against nothing"]
        );
        assert_eq!(differing(&file("4s", "off"), &file("4s", "off")), Vec::<String>::new());
    }
}
